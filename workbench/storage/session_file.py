"""Read session files, append to them, and find incomplete appends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import tomli
from msgspec import Struct

from workbench.domain.errors import StorageError
from workbench.domain.run import Run
from workbench.domain.session import Draft, Session
from workbench.storage.files import file_error, not_read, open_regular, read_bytes
from workbench.storage.journal import write_all
from workbench.storage.run_format import RUN_MARK
from workbench.storage.session_format import runs_from_tables, session_from_tables
from workbench.storage.toml_files import BadField
from workbench.storage.toml_text import loads, tables_in

_MOST_PARTS = 64
"""Maximum parts of a file to join into one run before the whole file is read instead."""


class Contents(Struct, frozen=True):
    """The parsed contents of a session file."""

    session: Session
    head: int
    """Bytes before the first run; 0 if anything else follows the first run, or runs precede it."""


def parse_document(raw: bytes, path: Path) -> dict[str, object]:
    """Parse a TOML document. Raises StorageError, which names the invalid line."""
    try:
        return loads(raw)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise broken(path, f"line {line} is not UTF-8", line) from None
    except tomli.TOMLDecodeError as error:
        raise broken(path, str(error), error.lineno) from None


def error_in(raw: bytes, path: Path) -> StorageError | None:
    """Return the parse error of a TOML document; None if it is valid."""
    try:
        parse_document(raw, path)
    except StorageError as error:
        return error
    return None


def parse_session(raw: bytes, path: Path) -> Contents:
    """Parse a session file. Raises StorageError."""
    document = parse_document(raw, path)
    try:
        session = session_from_tables(document)
    except BadField as error:
        raise broken(path, str(error), None) from None
    head = head_size(raw)
    before = set(document if head == len(raw) else loads(raw[:head]))
    is_pure = "runs" not in before and set(document) <= {*before, "runs"}
    return Contents(session, head if is_pure else 0)


def parse_runs(raw: bytes, path: Path, *, with_tokens: bool = True) -> list[Run]:
    """Parse runs that were appended to a file. Raises StorageError.

    Without tokens, each choice has its text as a single token.
    """
    document = parse_document(raw, path)
    if not with_tokens:
        for run in tables_in(document.get("runs")):
            run.pop("tokens", None)
    try:
        return runs_from_tables(document)
    except BadField as error:
        raise broken(path, str(error), None) from None


def line_end(raw: bytes) -> bytes:
    """Return the line end of a file's first line: LF or CRLF."""
    return b"\r\n" if raw[: raw.find(b"\n")].endswith(b"\r") else b"\n"


def _marks(raw: bytes, last_first: bool = False) -> Iterator[int]:
    mark = RUN_MARK.replace(b"\n", line_end(raw))
    found = raw.rfind(mark) if last_first else raw.find(mark)
    while found >= 0:
        yield found
        found = raw.rfind(mark, 0, found) if last_first else raw.find(mark, found + 1)


def head_size(raw: bytes) -> int:
    """Return the number of bytes before the first run; all if there is none."""
    for mark in _marks(raw):
        # A prompt may contain the mark too; the bytes before it are then not a valid document.
        if _is_document(raw[:mark]):
            return mark
    return len(raw)


def _is_document(raw: bytes) -> bool:
    try:
        loads(raw)
    except ValueError:
        return False
    return True


def torn_at(raw: bytes) -> int | None:
    """Return the offset of the last run if the file is valid without it; None if more is damaged."""
    for tries, mark in enumerate(_marks(raw, last_first=True)):
        if _is_document(raw[:mark]):
            # A later run would have to close the incomplete one, so only the last run can be incomplete.
            return mark
        if tries == 20:
            break
    return None


def append(path: Path, data: bytes, size: int) -> None:
    """Append to a file of a known size and sync it. Raises OSError; the file is then unchanged."""
    handle = os.open(path, os.O_WRONLY)
    try:
        os.lseek(handle, size, os.SEEK_SET)
        try:
            write_all(handle, data)
            os.fsync(handle)
        except OSError:
            os.ftruncate(handle, size)
            raise
    finally:
        os.close(handle)


def broken(path: Path, why: str, line: int | None) -> StorageError:
    """Return the error for a file that is not a valid session."""
    hint = "Correct it in an editor; it is opened as text and never overwritten."
    return file_error(path, "is not a readable session", why, hint, line)


def iterate_runs(path: Path, *, with_tokens: bool = True) -> Iterator[Run]:
    """Yield the runs of a session file, so that a long file takes only the memory of its longest run.

    Without tokens, as in `parse_runs`, it takes a third less time. Runs appended during the iteration are not
    read. Raises StorageError, possibly after some runs.
    """
    count = 0
    parts: list[bytes] = []
    for part in _parts(path):
        parts.append(part)
        try:
            runs = parse_runs(b"".join(parts), path, with_tokens=with_tokens)
        except StorageError:
            # A prompt may contain the mark too: the run then continues in the next part.
            if len(parts) == _MOST_PARTS:
                break
            continue
        yield from runs
        count += len(runs)
        parts = []
    if parts:
        # Parse the whole file, which gives errors the right line number.
        yield from parse_session(read_bytes(path), path).session.runs[count:]


def _parts(path: Path) -> Iterator[bytes]:
    """Split a file before each line that may begin a run. Raises StorageError."""
    try:
        with open_regular(path) as file:
            left = os.fstat(file.fileno()).st_size
            lines: list[bytes] = []
            while left > 0 and (line := file.readline(left)):
                left -= len(line)
                if line.rstrip() == RUN_MARK.strip() and lines:
                    yield b"".join(lines)
                    lines = []
                lines.append(line)
            yield b"".join(lines)
    except OSError as error:
        raise not_read(path, error) from None


def read_runs(path: Path) -> list[Run]:
    """Read the runs of a session file, without locking it. Raises StorageError."""
    return parse_session(read_bytes(path), path).session.runs


_GUARD = 256
"""Bytes before the known end that are compared to check that a file was only appended to."""


@dataclass(slots=True)
class FileState:
    """The state of a session file when this window last read or wrote it."""

    size: int = 0
    draft: Draft = field(default_factory=Draft)
    """The draft in the file."""
    guard: bytes = b""
    """The last bytes."""
    start: bytes = b""
    """The bytes before the first run; empty if the runs' bytes cannot be copied unchanged."""
    line_end: bytes = b"\n"
    """LF or CRLF."""
    identity: tuple[int, int, int] | None = None
    """None if there is no file yet."""

    @staticmethod
    def of(path: Path, raw: bytes, head: int, draft: Draft) -> FileState:
        """Return the state after a file's bytes were read or written."""
        return FileState(len(raw), draft, raw[-_GUARD:], raw[:head], line_end(raw), identity(path))

    def appended(self, path: Path, data: bytes) -> None:
        """Update the state after bytes were appended."""
        self.size += len(data)
        self.guard = (self.guard + data)[-_GUARD:]
        self.identity = identity(path)

    def was_appended_to(self, path: Path) -> bool:
        """Whether the file grew and still starts with the known bytes. Raises OSError."""
        if self.identity is None or path.stat().st_size <= self.size:
            return False
        with open_regular(path) as file:
            if file.read(len(self.start)) != self.start:
                return False
            file.seek(self.size - len(self.guard))
            return file.read(len(self.guard)) == self.guard


def identity(path: Path) -> tuple[int, int, int] | None:
    """Return inode, modification time (ns) and size, which detect changes; None if there is no file."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


_FILE = Path(__file__).parent / "shipped" / "demo.toml"


def load_demo() -> Run:
    """Load the demo: the embedded model's answer to the example prompt, with five alternatives per token."""
    return parse_session(_FILE.read_bytes(), _FILE).session.runs[0]
