"""Ray that a job starts on this machine rejects processes without its token."""

import os
from pathlib import Path

import pytest

from commands import titer_process

pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray"), pytest.mark.timeout(300)]

OTHER = """
import sys, ray
ray.init(address=sys.argv[1], log_to_driver=False)
print("connected")
"""
STARTED = f"""
import os, subprocess, sys, ray
from titer.ray.engine import Cluster, _connected
with _connected(Cluster(workers=1)):
    address = ray.get_runtime_context().gcs_address
    environment = {{**os.environ, "RAY_AUTH_MODE": "disabled"}}
    words = [sys.executable, "-c", {OTHER!r}, address]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=100)
    print("connected" in done.stdout, "token" in done.stderr)
"""


def test_ray_on_this_machine_requires_a_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in os.environ:
        if name.startswith("RAY_AUTH"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))  # Ray creates the token there
    done = titer_process("-c", STARTED)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["False True"]
