"""The program's folders, and functions to read, delete and atomically write files, with errors to show."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from workbench.domain.display import one_line
from workbench.domain.errors import LONGEST_NAME, StorageError

APPLICATION = "completion-workbench"
"""The application name in the system's usual folders."""

HOME_VARIABLE = "WORKBENCH_HOME"
"""The environment variable that sets a common parent of all folders."""


class Folders(Struct, frozen=True):
    """The folders that the program reads and writes; created on the first write."""

    config: Path
    """The user's config.toml, endpoints, presets, themes and templates."""
    data: Path
    """Sessions and their sidecars and trash."""
    state: Path
    """The program's own state."""

    @staticmethod
    def default(environment: Mapping[str, str]) -> Folders:
        """Return the system's usual folders, or those under `WORKBENCH_HOME` if it is set."""
        if home := environment.get(HOME_VARIABLE):
            base = Path(home).expanduser()
            return Folders(base / "config", base / "data", base / "state")
        # Imported late: not needed if the variable is set.
        from platformdirs import PlatformDirs

        usual = PlatformDirs(APPLICATION, appauthor=False)
        return Folders(usual.user_config_path, usual.user_data_path, usual.user_state_path)


def is_missing(path: Path) -> bool:
    """Whether there is no such file; False if that is unknown, so that reading it gives the reason."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading. Raises OSError, also for a pipe or device, whose end might never come."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    raise _not_regular(path, mode)


def _not_regular(path: Path, mode: int) -> OSError:
    if stat.S_ISDIR(mode):
        return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return OSError(errno.EINVAL, "It is a pipe or a device", str(path))


def read_regular(path: Path, size: int = -1) -> bytes:
    """Read a file's bytes, at most the first `size`. Raises OSError as `open_regular` does."""
    with open_regular(path) as file:
        return file.read(size)


def read_text(path: Path, most: int | None = None, *, is_pipe_allowed: bool = False) -> str:
    """Read a file's text, without a byte order mark.

    Raises StorageError if the file cannot be read, has more than `most` bytes, or is not UTF-8.
    """
    raw = read_bytes(path, -1 if most is None else most + 1, is_pipe_allowed=is_pipe_allowed)
    if most is not None and len(raw) > most:
        raise file_error(path, "is too large", f"More than {most:,} bytes.")
    return decode_text(raw, path)


def read_bytes(path: Path, size: int = -1, *, is_pipe_allowed: bool = False) -> bytes:
    """Read a file's bytes, at most the first `size`. Raises StorageError if it cannot be read."""
    try:
        with path.open("rb") if is_pipe_allowed else open_regular(path) as file:
            return file.read(size)
    except OSError as error:
        raise not_read(path, error) from None


def toml_paths(folder: Path) -> tuple[list[Path], list[StorageError]]:
    """Return the paths of a folder's TOML files in order, and the error if the folder cannot be read."""
    try:
        return sorted(path for path in folder.iterdir() if path.name.endswith(".toml")), []
    except FileNotFoundError:
        return [], []
    except OSError as error:
        return [], [not_read(folder, error)]


def decode_text(raw: bytes, path: Path) -> str:
    """Decode a file's bytes, without a byte order mark. Raises StorageError if they are not UTF-8."""
    try:
        return raw.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        why = f"A byte in line {line} belongs to no character."
        raise file_error(path, "is not UTF-8", why, "Save the file as UTF-8.", line) from None


def delete_file(path: Path) -> None:
    """Delete a file. Raises StorageError if it does not exist or cannot be deleted."""
    try:
        path.unlink()
    except OSError as error:
        raise file_error(path, "cannot be deleted", error) from None


def file_error(
    path: Path, what: str, why: str | Exception = "", hint: str = "", line: int | None = None
) -> StorageError:
    """Return the error of a file; `what` continues its name, such as `cannot be read`."""
    message = (isinstance(why, OSError) and why.strerror) or str(why)
    name = one_line(path.name or str(path), LONGEST_NAME)
    return StorageError(f"{name} {what}", message, hint, path=str(path), line=line)


def not_read(path: Path, error: OSError) -> StorageError:
    """Return the error of a file or folder that cannot be read, with where it is."""
    where = one_line(str(path.absolute()), 200)
    return file_error(path, "cannot be read", error, f"Check {where} and its permissions.")


def not_written(path: Path, error: OSError) -> StorageError:
    """Return the error of a file that cannot be written, with where it is and what to do about it."""
    folder = one_line(str(path.absolute().parent), 200)
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            hint = f"Free some space for {folder}."
        case errno.EACCES | errno.EPERM | errno.EROFS:
            hint = f"Check the permissions in {folder}."
        case errno.ENOENT | errno.ENOTDIR | errno.EEXIST:
            hint = f"Check that {folder} is a folder."
        case errno.EISDIR:
            hint = f"Move the folder of that name away from {folder}."
        case errno.ENAMETOOLONG | errno.ELOOP:
            hint = "Choose another name."
        case _:
            hint = f"Check the folder {folder} and its disk."
    return file_error(path, "cannot be written", error, hint)


def followed(path: Path) -> Path:
    """Return the target of a symbolic link; the path itself if it is not a link or cannot be resolved."""
    try:
        return path.resolve() if path.is_symlink() else path
    except (OSError, RuntimeError):
        return path


PART = ".part"
"""The suffix of the temporary files of `write_atomically`."""
_STALE_SECONDS = 3600.0
"""Seconds after which a temporary file is left over from a process that was killed."""


def write_atomically(path: Path, data: bytes, part: Path | None = None) -> None:
    """Write a file atomically: a reader, or a crash, sees either the old or the new content.

    A missing folder is created. An existing file keeps its permissions, a symbolic link is followed. `part`
    is the temporary file in the same folder, if no one else uses it. Raises StorageError if the file cannot
    be written; the old file is then unchanged.
    """
    target = followed(path)
    temporary: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        old = None if is_missing(target) else target.stat().st_mode
        if old is not None and not stat.S_ISREG(old):
            raise _not_regular(target, old)
        handle, temporary = _new_part(target) if part is None else _opened(part)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if old is not None:
            temporary.chmod(old & 0o7777)
        temporary.replace(target)
        temporary = None
    except OSError as error:
        raise not_written(path, error) from None
    finally:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink()


def _opened(part: Path) -> tuple[int, Path]:
    part.unlink(missing_ok=True)
    return os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), part


def _new_part(target: Path) -> tuple[int, Path]:
    """Open a temporary file under an unused name, and delete those that killed processes left."""
    # File names are limited to 255 bytes.
    prefix = f".{target.name[:40]}."
    handle, name = tempfile.mkstemp(PART, prefix, target.parent)
    # Compared with each other, as the clock of the disk may be another computer's.
    oldest = os.fstat(handle).st_mtime - _STALE_SECONDS
    with suppress(OSError):
        for other in target.parent.iterdir():
            if other.name.startswith(prefix) and other.suffix == PART and other.lstat().st_mtime < oldest:
                other.unlink()
    return handle, Path(name)
