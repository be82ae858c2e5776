"""What a window knows of a file that others write too."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from workbench.domain.session import Draft
from workbench.storage.session_file import line_end

_GUARD = 256
"""Bytes before the known end that tell whether a file was only appended to."""


@dataclass(slots=True)
class FileState:
    """A session's file as this window last read or wrote it."""

    size: int = 0
    head: int = 0
    """Bytes before the first run; 0 where the runs' bytes cannot be copied as they are."""
    draft: Draft = field(default_factory=Draft)
    """The draft in the file."""
    guard: bytes = b""
    """The last bytes."""
    start: bytes = b""
    """The bytes before the first run."""
    line_end: bytes = b"\n"
    """What ends its lines: LF or CRLF."""
    identity: tuple[int, int, int] | None = None
    """None where there is no file yet."""

    @staticmethod
    def of(path: Path, raw: bytes, head: int, draft: Draft) -> FileState:
        """What is known once a file's bytes were read or written."""
        return FileState(len(raw), head, draft, raw[-_GUARD:], raw[:head], line_end(raw), identity(path))

    def appended(self, path: Path, data: bytes) -> None:
        """Take note of bytes that were added at the end."""
        self.size += len(data)
        self.guard = (self.guard + data)[-_GUARD:]
        self.identity = identity(path)

    def was_appended_to(self, path: Path) -> bool:
        """Whether the file grew and what was known of it is still there. Raises OSError."""
        if self.identity is None or path.stat().st_size <= self.size:
            return False
        with path.open("rb") as file:
            if file.read(len(self.start)) != self.start:
                return False
            file.seek(self.size - len(self.guard))
            return file.read(len(self.guard)) == self.guard


def identity(path: Path) -> tuple[int, int, int] | None:
    """Inode, modification time and size, which differ after any change; None where there is no file."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def read_from(path: Path, offset: int) -> bytes:
    """A file's bytes from an offset on. Raises OSError."""
    with path.open("rb") as file:
        file.seek(offset)
        return file.read()
