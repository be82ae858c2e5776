"""A built wheel, installed into an empty environment, runs and carries what it needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.environments import uv

ROOT = Path(__file__).resolve().parents[1]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def ran(*argv: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        [str(argument) for argument in argv],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that holds the lean wheel alone."""
    folder = tmp_path_factory.mktemp("wheel")
    ran(uv(), "build", "-q", "--wheel", "--out-dir", folder, ROOT, cwd=folder)
    ran(uv(), "venv", "-q", "--python", sys.executable, folder / "env", cwd=folder)
    python = folder / "env" / "bin" / "python"
    (wheel,) = folder.glob("*.whl")
    ran(uv(), "pip", "install", "-q", "--python", python, wheel, cwd=folder)
    return python


def test_it_runs(installed: Path) -> None:
    assert ran(installed.parent / "workbench", "--version", cwd=installed.parent).startswith("workbench 0.")


def test_it_carries_themes_endpoints_and_presets(installed: Path) -> None:
    script = (
        "from pathlib import Path\n"
        "from workbench.storage.endpoint_list import load_endpoints\n"
        "from workbench.storage.files import Folders\n"
        "from workbench.storage.presets import load_presets\n"
        "from workbench.tui.theme.theme_files import load_themes\n"
        "folders = Folders.default({'WORKBENCH_HOME': '/nowhere'})\n"
        "print(len(load_themes(Path('/nowhere')).themes), len(load_endpoints(folders).endpoints),"
        " len(load_presets(folders).presets))"
    )
    themes, endpoints, presets = map(int, ran(installed, "-c", script, cwd=installed.parent).split())
    assert themes >= 6
    assert endpoints >= 17
    assert presets >= 4


def test_without_the_engine_the_local_endpoint_says_what_to_install(installed: Path) -> None:
    done = subprocess.run(
        [installed.parent / "workbench", "run", "--prompt", "Once"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert "completion-workbench[local]" in done.stderr
    assert "Traceback" not in done.stderr
