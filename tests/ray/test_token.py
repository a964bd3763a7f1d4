"""Ray that a job starts on this machine rejects processes without its token."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_ray_on_this_machine_requires_a_token(tmp_path: Path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    environment["HOME"] = str(tmp_path)  # Ray creates the token there
    words = [sys.executable, "-c", STARTED]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["False True"]
