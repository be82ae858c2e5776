"""Store a window's session in its file, without losing typed or streamed text on errors or crashes."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from filelock import Timeout

from workbench.domain.conversation import Chat
from workbench.domain.display import one_line
from workbench.domain.errors import BusyError, StorageError
from workbench.domain.run import Run
from workbench.domain.session import Draft, Session, in_order
from workbench.storage.files import (
    file_error,
    followed,
    not_written,
    open_regular,
    read_bytes,
    read_regular,
    write_atomically,
)
from workbench.storage.journal import Increment, Journal
from workbench.storage.recovery import recover
from workbench.storage.run_format import run_to_toml, with_order, with_runs
from workbench.storage.session_file import (
    FileState,
    append,
    error_in,
    identity,
    line_end,
    parse_runs,
    parse_session,
)
from workbench.storage.session_format import FORMAT, head_to_toml
from workbench.storage.sidecars import Sidecars, write_draft


def _unchanged(body: bytes) -> bytes:
    return body


HEAD = ("id", "created", "title", "tags", "variables", "chat", "other")
"""Attributes of `Session`, besides the runs, that the windows of a session share."""
_START = 64
"""Bytes at the start of a file that are read to find its format version."""


@dataclass(frozen=True, slots=True)
class News:
    """Changes to a session by other windows and programs."""

    runs: tuple[Run, ...] = ()
    """Added runs."""
    session: Session | None = None
    """The whole session, merged with this window's changes, if more than runs changed."""


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """An opened session, with notes for the user."""

    store: SessionStore
    session: Session
    notes: tuple[str, ...] = ()
    """What was recovered or repaired, one line each."""
    read_only: bool = False
    """Whether writing is disabled: an invalid file, a newer format, or missing permissions."""
    error: StorageError | None = None
    """Why the file is not a valid session, if so."""
    text: str = ""
    """The file's text if it is not a valid session."""
    spare_drafts: tuple[Draft, ...] = ()
    """Drafts left by second windows; `SessionStore.forget_spare_drafts()` deletes them."""


class SessionStore:
    """Stores a session: drafts and streaming runs in sidecars, finished runs appended to its file.

    Must be used by one thread at a time. If writing fails, a StorageError is raised, all data is kept in
    memory, and the next call retries.
    """

    def __init__(self, path: Path, session: Session) -> None:
        """Use `open()` or `create()`."""
        self.path = followed(path)
        self.session = session
        self.read_only = False
        self.owns_draft = False
        """Whether this window's draft is the session's; a second window at first has a separate draft."""
        self.notes: list[str] = []
        """Notes for the user since the file was opened; the caller removes those it shows."""
        self._window = uuid.uuid4().hex[:12]
        self._sidecars = Sidecars(self.path, self._window)
        self._known = FileState()
        self._stored: set[str] = set()
        self._news: list[Run] = []
        self._theirs: Session | None = None
        self._journals: dict[str, Journal] = {}
        self._pending: list[Run] = []
        self._spare: tuple[Path, ...] = ()
        self._changed: set[str] = set()
        """Attributes of the head that were changed here and are not written yet."""
        self._draft_changed = False
        self._draft_found = Draft()
        """The draft in the file when it was opened."""

    @staticmethod
    def create(path: Path, session: Session | None = None) -> SessionStore:
        """Create a session; its file is created when something is first stored.

        Raises StorageError if the file exists or its folder cannot be written.
        """
        store = SessionStore(path, session or Session())
        with _disk_errors(path):
            with suppress(FileNotFoundError):
                path.lstat()
                raise file_error(path, "exists already", hint="Open it, or choose another name.")
            store.path.parent.mkdir(parents=True, exist_ok=True)
            store.owns_draft = store._sidecars.enter()
        return store

    @staticmethod
    def open(path: Path, *, create: bool = False) -> OpenedSession:
        """Open a file, recover the sidecars of closed windows, and repair an incomplete append.

        With `create`, a missing file starts a new session. Raises StorageError if the file cannot be read; an
        invalid file is opened read-only, with its error and its text.
        """
        if create and not os.path.lexists(path):
            store = SessionStore.create(path)
            return OpenedSession(store, store.session)
        return SessionStore(path, Session())._open()

    def _open(self) -> OpenedSession:
        start = read_bytes(self.path, _START)
        try:
            self.owns_draft = self._sidecars.enter()
        except OSError as error:
            why = error.strerror or str(error)
            return self._opened_read_only(f"read-only: its folder cannot be written ({why})")
        if not os.access(self.path, os.W_OK):
            return self._opened_read_only("read-only: the file's permissions allow no writing")
        if _is_newer(start):
            return self._opened_read_only("read-only: a newer version of the workbench wrote this file")
        try:
            with self._storing(), self._sidecars.lock, self._sidecars.orphans() as orphans:
                return self._recover(orphans)
        except StorageError as error:
            return self._opened_read_only(str(error))

    def _recover(self, orphans: list[Path]) -> OpenedSession:
        raw = read_bytes(self.path)
        opened = self._opened(raw)
        found = recover(self.path, raw, orphans, opened.error, self._stored)
        if found.repaired:
            opened = self._opened(read_bytes(self.path))
        if opened.error is not None:
            self._sidecars.leave()
            self.read_only = True
            later = "the unsaved draft and runs beside the file are recovered once it is corrected"
            return replace(opened, notes=found.notes if found.repaired else (later,) * bool(orphans))
        for run in found.runs:
            if run.id not in self._stored:
                self._keep(run)
        if found.draft is not None and self.owns_draft:
            self.session.draft = found.draft
            self._draft_changed = True
        self._spare = found.spare_paths
        notes = list(found.notes)
        try:
            self.flush()
            self._store_draft()
            found.forget()
        except StorageError as error:
            # The recovered data is shown; its sidecars stay for the next start.
            notes.append(str(error))
        return replace(opened, notes=tuple(notes), spare_drafts=found.spare_drafts)

    def _opened_read_only(self, note: str) -> OpenedSession:
        self._sidecars.leave()
        self.read_only = True
        return replace(self._opened(read_bytes(self.path)), notes=(note,), read_only=True)

    def _opened(self, raw: bytes) -> OpenedSession:
        try:
            contents = parse_session(raw, self.path)
        except StorageError as error:
            text = raw.decode(errors="replace")
            return OpenedSession(self, self.session, read_only=True, error=error, text=text)
        self.session = contents.session
        self._stored = {run.id for run in self.session.runs}
        self._known = FileState.of(self.path, raw, contents.head, self.session.draft)
        self._draft_found = self.session.draft
        return OpenedSession(self, self.session)

    @contextmanager
    def _storing(self) -> Iterator[None]:
        """Convert errors as `_disk_errors` does; also raise StorageError if read-only."""
        if self.read_only:
            why = "It is broken, of a newer version, or its folder cannot be written."
            hint = "Export the session, or save it under another name."
            raise file_error(self.path, "is open read-only", why, hint)
        with _disk_errors(self.path):
            yield

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the lock on the file, after reading the changes of others. Raises StorageError."""
        with self._storing(), self._sidecars.lock:
            self._news += self._absorb()
            yield

    @property
    def unsaved(self) -> tuple[Run, ...]:
        """Finished runs that are not written yet."""
        return tuple(self._pending)

    def save_draft(self, draft: Draft) -> None:
        """Store the draft in a sidecar, at most two seconds after an edit. Raises StorageError."""
        with self._storing():
            if draft != self.session.draft:
                self.session.draft = draft
                self._draft_changed = True
            self._take_over_draft()
            self._store_draft()

    def _take_over_draft(self) -> None:
        """Take ownership of the session's draft if its owner has closed and this window edited its own.

        The former owner's draft is kept as that of a second window.
        """
        if self.owns_draft or not self._draft_changed or not self._sidecars.own():
            return
        with self._writing():
            aside = self._sidecars.set_aside(self._known.draft, (self._draft_found, self.session.draft))
        self.owns_draft = True
        if aside:
            self.notes.append(
                "This window's draft was saved; the other window's draft will open as a separate session "
                "at the next start"
            )

    def _store_draft(self) -> None:
        if self._draft_changed:
            self._ensure_file()
        if self._draft_changed:
            write_draft(self._sidecars.draft, self.session.draft, self.owns_draft)

    def _ensure_file(self) -> None:
        if self._known.identity is None:
            with self._writing():
                # Another window may have created the file in the meantime.
                if self._known.identity is None:
                    self._rewrite()

    def progress(self, increment: Increment) -> None:
        """Write the new tokens of a streaming run to its journal. Raises StorageError."""
        with self._storing():
            journal = self._journal(increment.run)
            try:
                self._ensure_file()
            finally:
                journal.progress(increment)

    def _journal(self, run: Run) -> Journal:
        if run.id not in self._journals:
            self._journals[run.id] = Journal(self._sidecars.journal(run.id))
        return self._journals[run.id]

    def wait_at_most(self, seconds: float) -> None:
        """Set how long to wait for another program that is writing the file."""
        self._sidecars.lock.timeout = seconds

    def finish(self, run: Run) -> None:
        """Append a finished run to the file, after all runs that are not written yet. Raises StorageError."""
        # A copy, because another thread may rename the run at any time.
        self._keep(replace(run))
        self.flush()

    def flush(self) -> None:
        """Write the finished runs that are not written yet. Raises StorageError."""
        if not self._pending:
            return
        with self._storing():
            self._ensure_file()
            for run in self._pending:
                self._journal(run).end(run)
            with self._writing():
                while self._pending:
                    run = self._pending[0]
                    if run.id not in self._stored:
                        self._append(run)
                    self._pending.pop(0)
                    self._journals.pop(run.id).discard()

    def _keep(self, run: Run) -> None:
        if all(other.id != run.id for other in self.session.runs):
            self.session.runs.append(run)
        if all(other.id != run.id for other in self._pending):
            self._pending.append(run)

    def _append(self, run: Run) -> None:
        data = run_to_toml(run).encode().replace(b"\n", self._known.line_end)
        self._journal(run).appending_at(self._known.size)
        append(self.path, data, self._known.size)
        self._stored.add(run.id)
        self._known.appended(self.path, data)

    def save(self) -> None:
        """Write the head (draft, title and so on) to the file. Raises StorageError."""
        with self._storing():
            self.flush()
            with self._writing():
                self._rewrite()

    def _rewrite(self, edited: Callable[[bytes], bytes | None] = _unchanged) -> None:
        """Replace the file, without pending runs.

        `edited` returns the new bytes of the runs from the old ones, or None to convert all runs again, as is
        done if there is no file.
        """
        mine = self.session.draft
        draft = mine if self.owns_draft else self._known.draft
        head = head_to_toml(replace(self.session, draft=draft)).encode()
        is_there = identity(self.path) is not None
        at = len(self._known.start) if is_there else 0
        line_end = self._known.line_end
        body = edited(read_regular(self.path)[at:].replace(line_end, b"\n")) if at else None
        if body is None:
            held = {run.id for run in self._pending}
            # Runs missing from the file were removed by another window.
            gone = {run.id for run in self.session.runs} - self._stored if is_there else set()
            stored = [run for run in self.session.runs if run.id not in held | gone]
            body = "".join(map(run_to_toml, stored)).encode()
            self._stored = {run.id for run in stored}
        # TOML strings escape CR, so changing the line ends does not change texts.
        head, body = head.replace(b"\n", line_end), body.replace(b"\n", line_end)
        write_atomically(self.path, head + body, self._sidecars.part)
        self._known = FileState.of(self.path, head + body, len(head), draft)
        self._changed.clear()
        if self.owns_draft:
            self._draft_changed = False
            # The draft is now in the file.
            self._sidecars.draft.unlink(missing_ok=True)

    @contextmanager
    def _changing_runs(self) -> Iterator[list[Run]]:
        """Restore the session's runs if changing them, or the file, fails.

        Yields a copy of the runs before the change. Raises StorageError.
        """
        with self._writing():
            runs, pending, stored = list(self.session.runs), list(self._pending), set(self._stored)
            try:
                yield runs
            except (StorageError, OSError):
                self.session.runs[:], self._pending, self._stored = runs, pending, stored
                raise

    def remove(self, run: Run) -> None:
        """Remove a run from the session and its file. Raises StorageError; the session is then unchanged."""
        with self._changing_runs() as was:
            self.session.runs[:] = [other for other in was if other.id != run.id]
            self._pending = [other for other in self._pending if other.id != run.id]
            if run.id in self._stored:
                self._rewrite(partial(with_runs, old=run, new=()))
                self._stored.discard(run.id)
            if (journal := self._journals.pop(run.id, None)) is not None:
                journal.discard()

    def restore(self, run: Run, before: str) -> None:
        """Restore a removed run, before the run with the id `before`, else at the end.

        Raises StorageError; the session is then unchanged.
        """
        with self._changing_runs() as was:
            if any(other.id == run.id for other in was):
                return
            following = next((other for other in was if other.id == before), None)
            run = replace(run)
            self.session.runs.insert(len(was) if following is None else was.index(following), run)
            self._stored.add(run.id)
            new = (run,) if following is None else (run, following)
            self._rewrite(partial(with_runs, old=following, new=new))

    def put_in_order(self, ids: Sequence[str]) -> None:
        """Reorder the runs named by `ids` among the positions that they occupy.

        Raises StorageError; the session is then unchanged.
        """
        self.flush()
        with self._changing_runs() as was:
            self.session.runs[:], wanted = in_order(was, ids), self._stored.intersection(ids)
            self._rewrite(partial(with_order, runs=[run for run in self.session.runs if run.id in wanted]))

    def name_run(self, run: Run, name: str) -> None:
        """Rename a run. Raises StorageError."""
        with self._writing():
            mine = self.session.run(run.id)
            if mine is None:
                return
            # Another window may have renamed it.
            was, mine.name = mine.name, name
            if run.id in self._stored:
                self._rewrite(partial(with_runs, old=replace(mine, name=was), new=(mine,)))

    def rename(self, title: str) -> None:
        """Change the session's title; its file keeps its name. Raises StorageError."""
        self._save_head("title", title)

    def keep_chat(self, chat: Chat) -> None:
        """Store the conversation, with the turns added by other windows. Raises StorageError."""
        turns = chat.turns if self._theirs is None else chat.turns.merged(self._theirs.chat.turns)
        self._save_head("chat", chat._replace(turns=turns))

    def keep_variables(self, values: Mapping[str, str]) -> None:
        """Store the values of the prompt's variables. Raises StorageError."""
        self._save_head("variables", values)

    def tag(self, tags: tuple[str, ...]) -> None:
        """Replace the session's tags. Raises StorageError."""
        self._save_head("tags", tags)

    def _save_head(self, name: str, value: object) -> None:
        setattr(self.session, name, value)
        self._changed.add(name)
        self.save()

    def poll(self) -> News:
        """Return the changes by other windows and programs since the last call; cheap if there are none.

        Raises StorageError, for example if the file has become invalid.
        """
        if self.read_only or self._known.identity is None:
            return News()
        with self._storing():
            if self._known.identity != identity(self.path):
                with self._writing():
                    pass
            if not self.owns_draft and self._draft_changed:
                self._take_over_draft()
                self._store_draft()
            added, self._news = tuple(self._news), []
            if self._theirs is None:
                return News(added)
            self._theirs = None
            return News(added, replace(self.session, runs=list(map(replace, self.session.runs))))

    def _absorb(self) -> list[Run]:
        """Read the changes of others, and recover closed windows' runs; the caller must hold the lock."""
        now = identity(self.path)
        if now == self._known.identity:
            return []
        if now is None or now[-1] == 0 < self._known.size:
            # The bytes of the runs are gone: all are written from memory.
            self._known.start = b""
            self._rewrite()
            what = "deleted" if now is None else "emptied"
            self.notes.append(
                f"{one_line(self.path.name, 80)} was {what} by another program; it was written again"
            )
            return []
        with self._sidecars.orphans() as orphans:
            journals = [path for path in orphans if path.suffix == ".run"]
            if not journals:
                return self._read_news()
            raw = read_regular(self.path)
            found = recover(self.path, raw, journals, error_in(raw, self.path), self._stored)
            news = self._read_news()
            have = {run.id for run in self.session.runs}
            for run in found.runs:
                if run.id not in self._stored:
                    self._keep(run)
                    self._journal(run).end(run)
            found.forget()
            self.notes += found.notes
            return news + [run for run in found.runs if run.id not in have]

    def _read_news(self) -> list[Run]:
        known = self._known
        if identity(self.path) == known.identity:
            return []
        if not known.was_appended_to(self.path):
            return self._reload(read_regular(self.path))
        with open_regular(self.path) as file:
            file.seek(known.size)
            tail = file.read()
        added = self._add(parse_runs(tail, self.path))
        known.appended(self.path, tail)
        return added

    def _reload(self, raw: bytes) -> list[Run]:
        contents = parse_session(raw, self.path)
        was_id, was_stored = self.session.id, self._stored
        self._theirs = contents.session
        self._stored = {run.id for run in self._theirs.runs}
        if self._theirs.id != was_id:
            # Our runs were not removed in another window, which would have kept the session's id.
            for run in self.session.runs:
                if run.id in was_stored - self._stored:
                    self._keep(run)
            name = one_line(self.path.name, 80)
            self.notes.append(f"{name} was replaced by another session; this window's runs are added to it")
        take_over(self.session, self._theirs, keeps=self._changed)
        self._known = FileState.of(self.path, raw, contents.head, self._theirs.draft)
        return self._add(list(map(replace, self._theirs.runs)))

    def _add(self, runs: list[Run]) -> list[Run]:
        have = {run.id for run in self.session.runs}
        added = [run for run in runs if run.id not in have]
        self.session.runs += added
        self._stored |= {run.id for run in runs}
        return added

    def forget_spare_drafts(self) -> None:
        """Delete the drafts left by second windows, once the user has seen them."""
        for path in self._spare:
            with suppress(OSError):
                path.unlink()
        self._spare = ()

    def close(self) -> None:
        """Save all changes and release the file; sidecars keep what cannot be saved.

        If another program has damaged the file, everything is saved as a new session beside it. Raises
        StorageError, after releasing the file.
        """
        try:
            if not self.read_only and (self._pending or self._changed or self._draft_changed):
                with self._storing():
                    self._take_over_draft()
                self.save()
            else:
                with suppress(BusyError):
                    self.poll()
        except BusyError:
            raise
        except StorageError:
            self.notes += save_copy_of_damaged(self.session, self.path)
            raise
        finally:
            self._sidecars.leave()


def save_copy_of_damaged(session: Session, path: Path) -> tuple[str, ...]:
    """Save a session beside its file if that is damaged; return a note that names the new file."""
    try:
        parse_session(read_bytes(path), path)
    except StorageError:
        copy = replace(session, id=uuid.uuid4().hex, title=f"{session.title or path.stem} (copy)")
        name = f"{path.stem[:100]}-copy-{datetime.now():%Y%m%d-%H%M%S}.toml"
        with suppress(StorageError):
            store = SessionStore.create(path.with_name(name), copy)
            store.save()
            store.close()
            return (f"{one_line(path.name, 80)} is damaged; the session is saved as {one_line(name, 160)}",)
    return ()


def append_runs(path: Path, runs: Iterable[Run]) -> None:
    """Append runs to a session file without reading it; windows that have it open will show them.

    Raises StorageError.
    """
    path = followed(path)
    sidecars = Sidecars(path, uuid.uuid4().hex[:12])
    with _disk_errors(path):
        with open_regular(path) as file:
            end = line_end(file.readline())
        with sidecars.lock:
            data = "".join(map(run_to_toml, runs)).encode().replace(b"\n", end)
            append(path, data, path.stat().st_size)
            sidecars.leave()


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    """Convert errors of the disk and the lock to StorageError."""
    try:
        yield
    except Timeout:
        raise BusyError(
            f"{one_line(path.name, 80)} is being written by another program",
            "It did not finish in time.",
            "Close it, or wait until it has written.",
            path=str(path),
        ) from None
    except OSError as error:
        raise not_written(path, error) from None


def take_over(mine: Session, theirs: Session, *, keeps: Collection[str] = ()) -> None:
    """Update a session in place with another window's changes, except added runs, which the caller adds.

    `keeps` names the attributes of `HEAD` to keep; the turns of both conversations are merged.
    """
    settings = mine.chat if "chat" in keeps else theirs.chat
    chat = settings._replace(turns=mine.chat.turns.merged(theirs.chat.turns))
    for name in HEAD:
        if name not in keeps:
            setattr(mine, name, getattr(theirs, name))
    mine.chat = chat
    by_id = {run.id: run for run in mine.runs}
    for run in theirs.runs:
        if run.id in by_id:
            by_id[run.id].name, by_id[run.id].tags = run.name, run.tags


def _is_newer(start: bytes) -> bool:
    """Whether a file has a newer format, by its first bytes."""
    # The format comes first, so that the rest of a newer file need not be parsed.
    found = re.match(rb"(?:\xef\xbb\xbf)?format\s*=\s*(\d+)", start)
    return found is not None and int(found[1]) > FORMAT
