"""The sessions folder: listing, searching, renaming, duplicating and deleting sessions."""

from __future__ import annotations

import json
import os
import re
import unicodedata
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

import msgspec
from msgspec import Struct

from workbench.domain.errors import StorageError
from workbench.domain.json_values import parse_json
from workbench.storage.files import Folders, not_read, read_bytes, read_regular, write_atomically
from workbench.storage.session_file import parse_document
from workbench.storage.session_store import SessionStore
from workbench.storage.toml_text import tables_in
from workbench.storage.trash import KEPT, Deleted, Trash, move

_INDEX_FORMAT = 1
_TEXT = 4000
"""Maximum characters of prompts and answers that the index keeps per session for searching."""


class Listed(Struct, frozen=True):
    """A session in a list."""

    path: str
    title: str
    """Empty if the user gave none."""
    created: str
    """ISO 8601, as in the file; empty if missing."""
    modified: float
    """Unix time in seconds."""
    size: int
    """Size in bytes."""
    runs: int = 0
    tags: tuple[str, ...] = ()
    text: str = ""
    """The beginning of its prompts and answers, for search and preview."""
    error: str = ""
    """Why the file is not a valid session; otherwise empty."""
    line: int | None = None
    """The invalid line; None if unknown or the file could not be read."""

    def matches(self, query: str) -> bool:
        """Whether every word of a query is in the title, file name, tags, prompts or answers, in any case."""
        within = "\n".join((self.title, Path(self.path).stem, *self.tags, self.text)).casefold()
        return all(word in within for word in query.casefold().split())


class _Index(Struct, frozen=True):
    format: int
    sessions: list[Listed]


def safe_name(title: str) -> str:
    """Return a file name, without suffix, close to a title and valid on all file systems."""
    name = unicodedata.normalize("NFC", title)
    kept = "".join("-" if sign in '/\\:*?"<>|' or not sign.isprintable() else sign for sign in name)
    short = " ".join(kept.split()).strip(". -").encode(errors="replace")[:120].decode(errors="ignore").strip()
    reserved = re.fullmatch(r"(?i)con|prn|aux|nul|com\d|lpt\d", short)
    return f"{short}-" if reserved else short or "session"


class Library:
    """The sessions in one folder."""

    def __init__(self, folders: Folders) -> None:
        self.folder = folders.data / "sessions"
        self.trash = Trash(folders.data / "trash")
        self._index = folders.state / "sessions.json"

    def new_path(self, title: str = "") -> Path:
        """Return an unused path in the folder, named after a title or the current time."""
        name = safe_name(title or f"{datetime.now():%Y-%m-%d %H.%M.%S}")
        paths = (self.folder / f"{stem}.toml" for stem in chain([name], (f"{name} {n}" for n in count(2))))
        return next(path for path in paths if not os.path.lexists(path))

    def sessions(self) -> list[Listed]:
        """Return all sessions, most recently modified first, including invalid ones.

        Reads only files that changed since the last call. May be called in any thread. Raises StorageError if
        the folder cannot be read.
        """
        self.trash.empty_old(datetime.now(UTC))
        known = self._read_index()
        listed: dict[str, Listed] = {}
        try:
            entries = [file for file in os.scandir(self.folder) if file.name.endswith(".toml")]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise not_read(self.folder, error) from None
        for entry in entries:
            if entry.name.startswith("."):
                continue
            # The file may just have been deleted, or be a dangling link.
            with suppress(OSError):
                stat = entry.stat()
                old = known.get(entry.path)
                is_same = old is not None and (old.modified, old.size) == (stat.st_mtime, stat.st_size)
                was_read = old is not None and (not old.error or old.line is not None)
                listed[entry.path] = old if old and is_same and was_read else read_listed(Path(entry.path))
        if listed != known:
            index = msgspec.to_builtins(_Index(_INDEX_FORMAT, list(listed.values())))
            with suppress(StorageError):
                write_atomically(self._index, json.dumps(index).encode())
        return sorted(listed.values(), key=lambda session: session.modified, reverse=True)

    def search(self, query: str) -> list[Listed]:
        """Return the sessions that contain every word of a query. Raises StorageError."""
        return [session for session in self.sessions() if session.matches(query)]

    def _read_index(self) -> dict[str, Listed]:
        # The index is only a cache, rebuilt if it is damaged.
        try:
            index = msgspec.convert(parse_json(read_regular(self._index)), _Index)
        except (OSError, ValueError):
            return {}
        return {listed.path: listed for listed in index.sessions} if index.format == _INDEX_FORMAT else {}

    def rename(self, path: Path, title: str) -> None:
        """Change a session's title. Raises StorageError."""
        with closing(SessionStore.open(path).store) as store:
            store.rename(title)

    def tag(self, path: Path, tags: tuple[str, ...]) -> None:
        """Replace a session's tags. Raises StorageError."""
        with closing(SessionStore.open(path).store) as store:
            store.tag(tags)

    def duplicate(self, path: Path) -> Path:
        """Copy a session under a new title, and return the copy's path. Raises StorageError."""
        opened = SessionStore.open(path)
        opened.store.close()
        if opened.error is not None:
            raise opened.error
        old = opened.session
        title = f"{old.title or path.stem} (copy)"
        copy = replace(old, id=uuid.uuid4().hex, title=title, created=datetime.now(UTC))
        with closing(SessionStore.create(self.new_path(title), copy)) as store:
            store.save()
        return store.path

    def delete(self, path: Path) -> Deleted:
        """Move a session to the trash. Raises StorageError."""
        # Opening the session merges sidecars left by closed windows into the file.
        with suppress(StorageError):
            SessionStore.open(path).store.close()
        return self.trash.put(path)

    def undelete(self) -> Path:
        """Restore the last deleted session, under a different name if its own is taken, and return its path.

        Raises StorageError if there is none or it cannot be moved.
        """
        deleted = self.trash.deleted()
        if not deleted:
            raise StorageError("There is no deleted session", hint=f"Each is kept for {KEPT.days} days.")
        path = self.folder / deleted[0].name
        if os.path.lexists(path):
            path = self.new_path(path.stem)
        move(deleted[0].trash, path)
        return path


def read_listed(path: Path) -> Listed:
    """Read the list entry of a session file. Raises OSError if there is no file."""
    stat, raw = path.stat(), b""
    bare = Listed(str(path), "", "", stat.st_mtime, stat.st_size)
    try:
        raw = read_bytes(path)
        document = parse_document(raw, path)
    except StorageError as error:
        text = raw[:_TEXT].decode(errors="replace")
        return msgspec.structs.replace(bare, text=text, error=error.message, line=error.line)
    runs = tables_in(document.get("runs"))
    tags = document.get("tags")
    return msgspec.structs.replace(
        bare,
        title=str(document.get("title", "")),
        created=str(document.get("created", "")),
        runs=len(runs),
        tags=tuple(map(str, tags)) if isinstance(tags, list) else (),
        text="\n".join(_texts(document, runs))[:_TEXT],
    )


def _texts(document: Mapping[str, object], runs: Sequence[Mapping[str, object]]) -> Iterable[str]:
    draft = document.get("draft")
    if isinstance(draft, Mapping):
        yield str(draft.get("prompt", ""))[:_TEXT]
    for run in reversed(runs):
        request = run.get("request")
        if isinstance(request, Mapping):
            yield str(request.get("prompt", ""))[:_TEXT]
        yield from (str(choice.get("text", ""))[:_TEXT] for choice in tables_in(run.get("choices")))
