"""The sessions folder and its trash: listing, searching, renaming, duplicating and deleting sessions."""

from __future__ import annotations

import json
import os
import re
import unicodedata
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain, count
from pathlib import Path

import msgspec
from msgspec import Struct

from workbench.domain.errors import StorageError
from workbench.domain.json_values import parse_json
from workbench.storage.files import Folders, refused, write_atomically
from workbench.storage.session_file import parse_document
from workbench.storage.session_store import SessionStore
from workbench.storage.toml_text import tables_in

KEPT = timedelta(days=30)
"""How long a deleted session can be brought back."""

_MOMENT = "%Y%m%dT%H%M%S%f"
_NAME = re.compile(r"(\d{8}T\d{12})-[0-9a-f]{4}-(.+\.toml)", re.DOTALL)
_LONGEST = 200
"""Bytes of a session's file name that are kept; file systems allow 255 with what is put before it."""


class Deleted(Struct, frozen=True):
    """A deleted session."""

    name: str
    """Its file name."""
    when: datetime
    trash: Path


class Trash:
    """One folder of deleted sessions, whose file names say when each was deleted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, path: Path) -> Deleted:
        """Move a session's file here. Raises StorageError; nothing was changed then."""
        now = datetime.now(UTC)
        stem = os.fsencode(path.stem)[:_LONGEST].decode(errors="ignore")
        name = f"{stem}.toml"
        trash = self.folder / f"{now:{_MOMENT}}-{uuid.uuid4().hex[:4]}-{name}"
        move(path, trash)
        return Deleted(name, now, trash)

    def deleted(self) -> list[Deleted]:
        """What can be brought back, the one deleted last first."""
        found: list[Deleted] = []
        with suppress(OSError):
            for path in self.folder.iterdir():
                # A name of digits that are no date is not one of ours.
                with suppress(ValueError):
                    if parts := _NAME.fullmatch(path.name):
                        when = datetime.strptime(parts[1], _MOMENT).replace(tzinfo=UTC)
                        found.append(Deleted(parts[2], when, path))
        return sorted(found, key=lambda deletion: deletion.when, reverse=True)

    def empty_old(self, now: datetime) -> None:
        """Remove for good what was deleted longer ago than `KEPT`."""
        for deleted in self.deleted():
            if now - deleted.when > KEPT:
                with suppress(OSError):
                    deleted.trash.unlink()


def move(source: Path, target: Path) -> None:
    """Move a file, which must not be there under its new name. Raises StorageError; nothing changed then."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)
    except OSError as error:
        hint = "Check the folder's permissions; nothing was changed."
        raise refused(source, "cannot be moved", error, hint) from None


_INDEX_FORMAT = 1
_TEXT = 4000
"""Characters of prompts and answers that a listing keeps of each session for searching."""
_TOKENS = b"\n[[runs.tokens]]\n"


class Listed(Struct, frozen=True):
    """A session as a list shows it."""

    path: str
    title: str
    """Empty where nobody gave it one."""
    created: str
    """ISO 8601, as the file says; empty where it does not."""
    modified: float
    """Unix seconds."""
    size: int
    """Bytes."""
    runs: int = 0
    tags: tuple[str, ...] = ()
    text: str = ""
    """The beginning of its prompts and answers, for search and preview."""
    error: str = ""
    """Why it is not a session; empty where it is one."""
    line: int | None = None
    """The line at fault; None also where the file could not be read."""

    def matches(self, query: str) -> bool:
        """Whether every word is somewhere in its title, tags, prompts or answers, in any case."""
        within = "\n".join((self.title, Path(self.path).stem, *self.tags, self.text)).casefold()
        return all(word in within for word in query.casefold().split())


class _Index(Struct, frozen=True):
    format: int
    sessions: list[Listed]


def safe_name(title: str) -> str:
    """A file name without its ending that any file system takes, near to a title as a person typed it."""
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
        """A path in the folder that no file has, named after a title or the time."""
        name = safe_name(title or f"{datetime.now():%Y-%m-%d %H.%M.%S}")
        paths = (self.folder / f"{stem}.toml" for stem in chain([name], (f"{name} {n}" for n in count(2))))
        return next(path for path in paths if not os.path.lexists(path))

    def sessions(self) -> list[Listed]:
        """All sessions, the one changed last first; broken ones too.

        Reads only files that changed since the last call, and may be called from a thread. Raises
        StorageError where the folder cannot be read.
        """
        self.trash.empty_old(datetime.now(UTC))
        known = self._read_index()
        listed: dict[str, Listed] = {}
        try:
            entries = [file for file in os.scandir(self.folder) if file.name.endswith(".toml")]
        except FileNotFoundError:
            return []
        except OSError as error:
            why = error.strerror or str(error)
            raise StorageError("The sessions cannot be read", why, path=str(self.folder)) from None
        for entry in entries:
            if entry.name.startswith("."):
                continue
            # One that another program has just deleted, or a link that leads nowhere.
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
        """The sessions in which every word appears. Raises StorageError."""
        return [session for session in self.sessions() if session.matches(query)]

    def _read_index(self) -> dict[str, Listed]:
        # The index only saves time: whatever is wrong with it, it is built again.
        try:
            index = msgspec.convert(parse_json(self._index.read_bytes()), _Index)
        except (OSError, ValueError, msgspec.ValidationError):
            return {}
        return {listed.path: listed for listed in index.sessions} if index.format == _INDEX_FORMAT else {}

    def rename(self, path: Path, title: str) -> None:
        """Give a session another title. Raises StorageError."""
        with closing(SessionStore.open(path).store) as store:
            store.rename(title)

    def tag(self, path: Path, tags: tuple[str, ...]) -> None:
        """Give a session other tags. Raises StorageError."""
        with closing(SessionStore.open(path).store) as store:
            store.tag(tags)

    def duplicate(self, path: Path) -> Path:
        """A copy of a session under a title of its own; answers with its path. Raises StorageError."""
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
        # What a window that is gone left beside the file belongs to it.
        with suppress(StorageError):
            SessionStore.open(path).store.close()
        return self.trash.put(path)

    def undelete(self) -> Path:
        """Bring back the session that was deleted last; under another name where its own is taken.

        Raises StorageError where there is none, or it cannot be moved.
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
    """What a list shows of a file; token columns are not read. Raises FileNotFoundError."""
    stat = path.stat()
    bare = Listed(str(path), "", "", stat.st_mtime, stat.st_size)
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        return msgspec.structs.replace(bare, error=error.strerror or str(error))
    try:
        try:
            # Columns are most of the file and nothing that a list shows.
            document = parse_document(_without_tokens(raw), path)
        except StorageError:
            # A text may hold what looks like columns; and the line at fault is that of the whole file.
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


def _without_tokens(raw: bytes) -> bytes:
    # A pattern would hold every other thread up for seconds on a long session.
    kept, at = [], 0
    while (start := raw.find(_TOKENS, at)) != -1:
        kept.append(raw[at:start])
        at = raw.find(b"\n[[", start + len(_TOKENS))
        if at == -1:
            return b"".join(kept)
    return b"".join((*kept, raw[at:]))


def _texts(document: Mapping[str, object], runs: Sequence[Mapping[str, object]]) -> Iterable[str]:
    draft = document.get("draft")
    if isinstance(draft, Mapping):
        yield str(draft.get("prompt", ""))[:_TEXT]
    for run in reversed(runs):
        request = run.get("request")
        if isinstance(request, Mapping):
            yield str(request.get("prompt", ""))[:_TEXT]
        yield from (str(choice.get("text", ""))[:_TEXT] for choice in tables_in(run.get("choices")))
