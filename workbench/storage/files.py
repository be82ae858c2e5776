"""Where files are; and files read, deleted, and written whole or not at all: errors name the file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from workbench.domain.display import one_line
from workbench.domain.errors import StorageError

APPLICATION = "completion-workbench"
"""The folders' name wherever the system's conventions ask for one."""

HOME_VARIABLE = "WORKBENCH_HOME"
"""The environment variable that puts all folders under one."""


class Folders(Struct, frozen=True):
    """The folders that the program reads and writes; each is made when something is first written to it."""

    config: Path
    """What a person edits: config.toml, endpoints, presets, themes, templates."""
    data: Path
    """Sessions and what belongs to them."""
    state: Path
    """What the program remembers by itself."""

    @staticmethod
    def default(environment: Mapping[str, str]) -> Folders:
        """The system's usual folders, or all under `WORKBENCH_HOME` where that is set."""
        if home := environment.get(HOME_VARIABLE):
            base = Path(home).expanduser()
            return Folders(base / "config", base / "data", base / "state")
        # platformdirs is needed only here, and not when a folder was named.
        from platformdirs import PlatformDirs

        usual = PlatformDirs(APPLICATION, appauthor=False)
        return Folders(usual.user_config_path, usual.user_data_path, usual.user_state_path)


def read_text(path: Path, most: int | None = None) -> str:
    """A file's text, without the byte order mark that some editors put before it.

    Raises StorageError where it cannot be read, has more than `most` bytes, or is not UTF-8.
    """
    raw = read_bytes(path, -1 if most is None else most + 1)
    if most is not None and len(raw) > most:
        raise StorageError(f"{path.name} is too large", f"More than {most:,} bytes.", path=str(path))
    return decode_text(raw, path)


def read_bytes(path: Path, size: int = -1, *, hint: str = "") -> bytes:
    """A file's bytes, at most its first `size`. Raises StorageError where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError as error:
        raise refused(path, "cannot be read", error, hint) from None


def decode_text(raw: bytes, path: Path) -> str:
    """The text of a file's bytes, without its byte order mark. Raises StorageError where it is not UTF-8."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise StorageError(
            f"{path.name} is not UTF-8",
            f"A byte in line {line} belongs to no character.",
            "Save the file as UTF-8.",
            path=str(path),
            line=line,
        ) from None


def delete_file(path: Path) -> None:
    """Delete a file. Raises StorageError where there is none or it cannot be deleted."""
    try:
        path.unlink()
    except OSError as error:
        raise refused(path, "cannot be deleted", error) from None


def refused(path: Path, what: str, error: OSError, hint: str = "") -> StorageError:
    """The error that the system refuses something to be done with a file, such as `cannot be read`."""
    why = error.strerror or str(error)
    return StorageError(f"{one_line(path.name, 80)} {what}", why, hint, path=str(path))


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
