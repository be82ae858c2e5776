"""Pinned environments for peers, made once and kept in `.bench/`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_FOLDER = _ROOT / ".bench"


def uv() -> str:
    """The uv of this checkout, or the one on the path."""
    own = _ROOT / ".uv" / "bin" / "uv"
    found = str(own) if own.exists() else shutil.which("uv")
    if found is None:
        raise SystemExit("uv is needed to make the peers' environments: see the README's first command")
    return found


def environment(name: str, *requirements: str, anew: str = "") -> Path:
    """The interpreter of an environment that holds exactly these requirements.

    `anew` names a package that is installed each time, as its sources change under the same requirement.
    """
    folder = _FOLDER / name
    marker = folder / "requirements"
    wanted = "\n".join(requirements)
    python = folder / "bin" / "python"
    install = [uv(), "pip", "install", "-q", "--compile-bytecode", "--python", str(python), *requirements]
    if not (python.exists() and marker.exists() and marker.read_text() == wanted):
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([uv(), "venv", "-q", "--python", sys.executable, str(folder)], check=True)
        subprocess.run(install, check=True)
        marker.write_text(wanted)
    if anew:
        subprocess.run([*install, "--reinstall-package", anew], check=True)
    return python


def folder_size(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
