"""The wheel, installed into environments that have no sources of titer."""

import os
import shutil
import site
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Mapping
from pathlib import Path
from urllib.request import urlopen

import pytest

from quick_events import store_quick_events
from titer.runs.reproduce import configurations

ROOT = Path(__file__).parents[2]
BASE = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    sources = tmp_path_factory.mktemp("sources")
    # A copy, because a build leaves files among the sources.
    shutil.copytree(ROOT / "src", sources / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, sources)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(out), str(sources)]
    subprocess.run(pip, check=True)
    (found,) = out.glob("titer-*.whl")
    return found


def environment(**variables: str) -> dict[str, str]:
    """Variables under which titer's dependencies are found, but not titer: its own path is in a .pth file.

    The dependencies are those of the tests, so one that is missing in ``pyproject.toml`` is not noticed here; the steps
    of the container install them anew.
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL"))}
    dependencies = sysconfig.get_path("purelib")
    return {**kept, "PYTHONPATH": dependencies, "OMP_NUM_THREADS": "1", **variables}


def installed_in_venv(wheel: Path, folder: Path) -> tuple[Path, dict[str, str]]:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--quiet",
        "--python",
        str(python),
        "install",
        "--no-deps",
        "--ignore-installed",
        str(wheel),
    ]
    subprocess.run(pip, check=True)
    return python, environment()


def installed_for_user(wheel: Path, folder: Path) -> tuple[Path, dict[str, str]]:
    variables = environment(PYTHONUSERBASE=str(folder / "user"))
    pip = [BASE, "-m", "pip", "install", "--quiet", "--user", "--no-deps", "--ignore-installed", str(wheel)]
    subprocess.run([*pip, "--break-system-packages"], check=True, env={**variables, "PYTHONPATH": ""})
    return BASE, variables


def installed_in_folder(wheel: Path, folder: Path) -> tuple[Path, dict[str, str]]:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder / "lib"), str(wheel)]
    subprocess.run(pip, check=True)
    variables = environment()
    return BASE, {**variables, "PYTHONPATH": f"{folder / 'lib'}{os.pathsep}{variables['PYTHONPATH']}"}


INSTALLERS = {"venv": installed_in_venv, "user": installed_for_user, "target": installed_in_folder}


@pytest.mark.parametrize("way", INSTALLERS)
def test_an_installed_wheel_lists_models_reproduces_and_serves(way: str, wheel: Path, tmp_path: Path):
    if way == "user" and not site.ENABLE_USER_SITE and sys.prefix == sys.base_prefix:
        pytest.skip("this Python has no user site")
    python, variables = INSTALLERS[way](wheel, tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def run(*words: str) -> str:
        done = subprocess.run([python, *words], cwd=elsewhere, env=variables, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = run("-c", "import titer; print(titer.__file__)").strip()
    assert Path(where).is_relative_to(tmp_path)
    models = run("-m", "titer", "models")
    assert "path_mixture" in models
    assert "small-world" in models
    reproduced = run(
        *("-m", "titer", "reproduce", "path_mixture/small-world", "--out", "run"),
        *("--set", "training.epochs=1", "--set", "training.recent_steps=8"),
    )
    assert "MRR" in reproduced
    store_quick_events(elsewhere / "run")
    assert is_healthy(python, variables, elsewhere)


def is_healthy(python: Path, variables: Mapping[str, str], folder: Path) -> bool:
    """Serve a run on a free port, and return whether the service says that it is healthy."""
    words = [str(python), "-m", "titer", "serve", "run", "--port", "0"]
    with subprocess.Popen(words, cwd=folder, env=variables, stderr=subprocess.PIPE, text=True) as service:
        try:
            assert service.stderr is not None
            address = next(line for line in service.stderr if "running on" in line).split("running on ")[1].split()[0]
            with urlopen(f"{address}/healthz", timeout=10) as reply:
                return reply.status == 200
        finally:
            service.terminate()
            service.wait(timeout=30)


def test_the_wheel_holds_every_configuration_and_the_page(wheel: Path):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"titer/configs/{name}.toml" for name in configurations()} <= names
    assert {"titer/py.typed", "titer/drawing/timeline.css", "titer/service/page/index.html"} <= names
    assert not [name for name in names if name.startswith("titer/") and Path(name).name.startswith("test")]
