"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from workbench.storage.text_files import refused


def followed(path: Path) -> Path:
    """What a symbolic link leads to; anything else, and one that leads nowhere, as it is."""
    try:
        return path.resolve() if path.is_symlink() else path
    except (OSError, RuntimeError):
        return path


def write_atomically(path: Path, data: bytes) -> None:
    """Put a file in place in one step, so that a reader or a crash meets the old one or the new one.

    The folder is made where it is missing; a file that exists keeps its permissions, and a symbolic link
    stays one. Raises StorageError where the file cannot be written; the old one is untouched then.
    """
    target = followed(path)
    temporary: str | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Names may have 255 bytes.
        handle, temporary = tempfile.mkstemp(".part", f".{target.name[:40]}.", target.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            Path(temporary).chmod(target.stat().st_mode & 0o7777)
        Path(temporary).replace(target)
        temporary = None
    except OSError as error:
        hint = "Free some space or check the folder's permissions; nothing was changed."
        raise refused(path, "cannot be written", error, hint) from None
    finally:
        if temporary is not None:
            with suppress(OSError):
                Path(temporary).unlink()
