"""Sidecars: hidden files beside a session file, with each window's locks, draft and journals."""

from __future__ import annotations

import hashlib
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from json import dumps
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock, SoftFileLock, Timeout
from msgspec import Struct

from workbench.domain.json_values import parse_json
from workbench.domain.session import Draft
from workbench.storage.files import PART, read_regular, write_atomically
from workbench.storage.session_format import draft_from_table, draft_to_table
from workbench.storage.toml_files import BadField
from workbench.storage.toml_text import parse, sound, toml_table

_WAIT = 20.0
"""Seconds to wait for another program's lock."""
_OF_WINDOWS = (".draft", ".run", ".alive", PART)
"""The suffixes of a window's own sidecars."""


class StoredDraft(Struct, frozen=True):
    """A draft in a sidecar."""

    draft: Draft
    owned: bool
    """Whether it is the session's draft; otherwise it is a second window's separate draft."""


def short_name(name: str) -> str:
    """Shorten a file name so that prefixes and suffixes fit into 255 bytes."""
    raw = os.fsencode(name)
    if len(raw) <= 160:
        return name
    return f"{raw[:100].decode(errors='ignore')}~{hashlib.sha256(raw).hexdigest()[:16]}"


class Sidecars:
    """The sidecars of a session, and the locks of one window."""

    def __init__(self, path: Path, window: str) -> None:
        self._folder = path.parent
        self._prefix = f".{short_name(path.name)}."
        self._window = window
        self._use(FileLock)

    def _use(self, kind: type[BaseFileLock]) -> None:
        self._kind = kind
        self._alive = self._lock_at(f"{self._window}.alive")
        self._owner = self._lock_at("owner")
        self.lock = self._lock_at("lock")
        """Held while the session's file is written."""

    def _lock_at(self, suffix: str) -> BaseFileLock:
        """Create a lock on a sidecar, private to the user and shared by the window's threads."""
        path = self._at(suffix)
        return self._kind(path, timeout=_WAIT, mode=0o600, thread_local=False, fallback_to_soft=False)

    def _at(self, suffix: str) -> Path:
        return self._folder / f"{self._prefix}{suffix}"

    def enter(self) -> bool:
        """Mark this window as open, and return whether it owns the session's draft. Raises OSError.

        On file systems without file locks, lock files with the process id are used instead.
        """
        try:
            self._show_presence()
        except OSError:
            # The file name is unique to this window, so the file system does not support locks.
            self._use(SoftFileLock)
            self._show_presence()
        try:
            self._owner.acquire(blocking=False)
        except Timeout:
            return False
        return True

    def _show_presence(self) -> None:
        try:
            self._alive.acquire(blocking=False)
        except OSError:
            Path(self._alive.lock_file).unlink(missing_ok=True)
            raise

    def own(self) -> bool:
        """Try to own the session's draft, and return whether this window owns it. Raises OSError."""
        return self._owner.is_locked or _try(self._owner)

    def set_aside(self, in_file: Draft, discarded: tuple[Draft, ...]) -> int:
        """Keep the drafts of closed owners as those of second windows, and return their number.

        Called when this window becomes the owner and its draft replaces theirs. `in_file` is the draft in the
        file; drafts in `discarded` are not kept. The caller must hold the lock. Raises OSError or
        StorageError.
        """
        kept = 0
        with self.orphans() as orphans:
            for path in orphans:
                stored = read_draft(path) if path.suffix == ".draft" else None
                if stored is None or not stored.owned:
                    continue
                if stored.draft in discarded:
                    path.unlink()
                else:
                    write_draft(path, stored.draft, owned=False)
                    kept += 1
        if in_file not in discarded:
            # Named like the draft of a closed window.
            write_draft(self._at(f"{uuid.uuid4().hex[:12]}.draft"), in_file, owned=False)
            kept += 1
        return kept

    def leave(self) -> None:
        """Release this window's locks and delete their files."""
        with suppress(OSError):
            _try(self.lock)
        for lock in (self._owner, self._alive, self.lock):
            if lock.is_locked:
                # Deleted while held: a waiting process notices this and creates a new file.
                with suppress(OSError):
                    Path(lock.lock_file).unlink()
                lock.release()

    def journal(self, run_id: str) -> Path:
        """Return the path of this window's journal for a run."""
        if not re.fullmatch(r"\w{1,40}", run_id, re.ASCII):
            run_id = hashlib.sha256(run_id.encode(errors="replace")).hexdigest()[:32]
        return self._at(f"{self._window}.{run_id}.run")

    @property
    def draft(self) -> Path:
        """The path of this window's draft."""
        return self._at(f"{self._window}.draft")

    @property
    def part(self) -> Path:
        """The path of the temporary file of this window's writes to the session file."""
        return self._at(f"{self._window}{PART}")

    @contextmanager
    def orphans(self) -> Iterator[list[Path]]:
        """Yield the drafts and journals of closed windows, locked against other windows. Raises OSError.

        Their unfinished writes are deleted.
        """
        held: list[BaseFileLock] = []
        mine: list[Path] = []
        try:
            gone: dict[str, bool] = {self._window: False}
            for path in sorted(self._folder.iterdir()):
                own_name = path.name.removeprefix(self._prefix)
                window = own_name.partition(".")[0]
                if own_name == path.name or path.suffix not in _OF_WINDOWS:
                    continue
                if window not in gone:
                    lock = self._lock_at(f"{window}.alive")
                    gone[window] = _try(lock)
                    held.extend([lock] if gone[window] else [])
                if gone[window] and path.suffix == PART:
                    path.unlink(missing_ok=True)
                elif gone[window] and path.suffix != ".alive":
                    mine.append(path)
            yield mine
        finally:
            for lock in held:
                with suppress(OSError):
                    Path(lock.lock_file).unlink()
                lock.release()


def _try(lock: BaseFileLock) -> bool:
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    return True


def write_draft(path: Path, draft: Draft, owned: bool) -> None:
    """Store a draft in a sidecar. Raises StorageError."""
    text = sound("".join(toml_table(draft_to_table(draft))))
    part = path.with_name(f"{path.name}{PART}")
    write_atomically(path, dumps({"owned": owned, "draft": text}).encode(), part)


def read_draft(path: Path) -> StoredDraft | None:
    """Read the draft in a sidecar; None if it is invalid. Raises OSError."""
    try:
        stored: Any = parse_json(read_regular(path))
        draft = draft_from_table(parse(stored["draft"]))
    except (BadField, ValueError, TypeError, KeyError):
        return None
    return StoredDraft(draft, stored.get("owned") is True)
