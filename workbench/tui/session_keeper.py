"""Keeps what the screen holds in its session's file, without being asked and without making anyone wait."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.domain.display import one_line
from workbench.domain.errors import StorageError
from workbench.domain.run import Run
from workbench.domain.session import Draft, Session
from workbench.domain.turns import Chat
from workbench.tui.changes import Changes

if TYPE_CHECKING:
    from workbench.storage.session_store import OpenedSession, SessionStore


def new_path(folder: Path, now: datetime) -> Path:
    """A free file name for a session without a name."""
    stem = f"{now:%Y-%m-%d-%H%M%S}"
    names = (folder / f"{stem}{'' if number == 1 else f'-{number}'}.toml" for number in range(1, 1000))
    return next(path for path in names if not path.exists())


class SessionKeeper:
    """The session of the screen; its file appears with the first thing worth keeping."""

    def __init__(self, folder: Path, tell: Callable[[StorageError], object], *, enabled: bool = True) -> None:
        """`tell` is told of each new reason why nothing can be written; `enabled` keeps unnamed sessions."""
        self._folder = folder
        self._tell = tell
        self._enabled = enabled
        self._store: SessionStore | None = None
        self._session = Session()
        self._draft: Draft | None = None
        self._streaming: dict[str, Run] = {}
        self._working: asyncio.Task[None] | None = None
        self._ended: list[Run] = []
        self._edits: list[Callable[[SessionStore], None]] = []
        """What is to be done to runs that the session has."""
        self._told = ""
        self._head_changed = False
        self.read_only = False
        self.changes = Changes()
        """What a person did to the session and may take back; forgotten when another one is opened."""
        self.noted = Draft()
        """The draft as the newest of the changes left it."""
        self.composed = ""
        """What the composer of the conversation holds, kept with the draft."""

    @property
    def path(self) -> Path | None:
        """The session's file, once there is one."""
        return self._store.path if self._store is not None else None

    @property
    def title(self) -> str:
        """What the header calls the session."""
        return one_line(self._session.title, 60) or "untitled"

    @property
    def is_unsaved(self) -> bool:
        """Whether something is only in memory."""
        waiting = self._draft is not None or bool(self._ended or self._edits) or self._head_changed
        return waiting or (self._store is not None and bool(self._store.unsaved))

    # --- what changed ------------------------------------------------------------------------------------

    def begin_with(self, draft: Draft) -> None:
        """Take a draft as what the session holds already."""
        self.noted = draft
        self._session.draft = self._whole(draft)
        self._draft = None

    def edited(self, draft: Draft) -> None:
        """Keep another draft, within two seconds."""
        draft = self._whole(draft)
        self._draft = None if draft == self._session.draft else draft

    def _whole(self, draft: Draft) -> Draft:
        """A draft of the screen with what is composed, and the keys that only another version knows."""
        return replace(draft, turn=self.composed, other=self._session.draft.other)

    def began(self, run: Run) -> None:
        """Keep a run that streams, within a second at any time."""
        self._streaming[run.id] = run

    def ended(self, run: Run) -> None:
        """Keep a run that is over, at once."""
        self._streaming.pop(run.id, None)
        self._ended.append(run)
        self._start()

    def remove(self, run: Run) -> None:
        """Take a run out of the session that is over, and out of its file at once."""
        self._edits.append(lambda store: store.remove(run))
        self._start()

    def restore(self, run: Run, before: Run | None) -> None:
        """Bring back a run that was removed, before another one or as the last."""
        self._edits.append(lambda store: store.restore(run, before.id if before is not None else ""))
        self._start()

    def name_run(self, run: Run, name: str) -> None:
        """Give a run another name; an empty one takes it away."""
        was, run.name = run.name, name
        self._edits.append(lambda store: store.name_run(run, was, name))
        self._start()

    def tick(self) -> None:
        """Write what changed; call it once a second."""
        self._keep_streaming()
        self._start()

    def _keep_streaming(self) -> None:
        if self._may_write:
            for run in self._streaming.values():
                # Here and not in a thread, as its columns grow on this one.
                self._attempt(lambda store, run=run: store.progress(run))  # type: ignore[misc]

    def save_now(self) -> None:
        """Write everything before returning: the process may end any moment."""
        self._keep_streaming()
        if self._may_write and self.is_unsaved:
            self._write()

    @property
    def _may_write(self) -> bool:
        return self._enabled or bool(self._session.title)

    def _start(self) -> None:
        busy = self._working is not None and not self._working.done()
        if self.is_unsaved and self._may_write and not busy:
            self._working = asyncio.create_task(asyncio.to_thread(self._write))

    def _write(self) -> None:
        draft = self._draft
        for run in list(self._ended):
            # A store that could not write the run yet keeps it; without one it stays here.
            if self._attempt(lambda store, run=run: store.finish(run)) or self._store is not None:  # type: ignore[misc]
                self._ended = [one for one in self._ended if one is not run]
        for edit in list(self._edits):
            if not self._attempt(edit):
                break
            self._edits = [one for one in self._edits if one is not edit]
        self._write_head()
        if (
            draft is not None
            and self._attempt(lambda store: store.save_draft(draft))
            and self._draft is draft
        ):
            self._draft = None

    def _write_head(self) -> None:
        if self._head_changed:
            self._head_changed = False
            if not self._attempt(lambda store: store.save_head()):
                self._head_changed = True

    def _attempt(self, write: Callable[[SessionStore], None]) -> bool:
        try:
            write(self._made())
        except StorageError as problem:
            self._report(problem)
            return False
        self._told = ""
        return True

    def _report(self, problem: StorageError) -> None:
        # A session without a file is tried under another name each time, for the same reason.
        if problem.message != self._told:
            self._told = problem.message
            self._tell(problem)

    def _made(self) -> SessionStore:
        if self._store is None or self.read_only:
            # The store and its locks are a twentieth of all imports: paid for with the first save.
            from workbench.storage.session_store import SessionStore

            session = self._copy(self._store.path) if self._store is not None else self._session
            self._store = SessionStore.create(new_path(self._folder, datetime.now()), session)
            if self.read_only:
                name = one_line(session.title, 60)
                self._store.notes.append(f"the file is read-only: you go on in a session of its own, {name}")
            self._session, self.read_only = session, False
        return self._store

    def _copy(self, path: Path) -> Session:
        """The session of a file that may not be written, to go on with under another name."""
        title = f"{self._session.title or path.stem} (copy)"
        return replace(self._session, id=uuid.uuid4().hex, title=title, created=datetime.now(UTC))

    # --- what others do ----------------------------------------------------------------------------------

    async def news(self) -> list[Run]:
        """The runs that other windows and programs added to the session since the last call."""
        store = self._store
        if store is None:
            return []
        try:
            added = await asyncio.to_thread(store.poll)
        except StorageError as problem:
            self._report(problem)
            return []
        return added if store is self._store else []

    def take_notes(self) -> list[str]:
        """What a person should know of the session's file, each told once."""
        notes: list[str] = []
        if self._store is not None:
            notes, self._store.notes = self._store.notes, []
        return notes

    # --- sessions ----------------------------------------------------------------------------------------

    async def open(self, path: Path) -> OpenedSession:
        """Let go of the session and open another one.

        Raises StorageError where the file cannot be read; the session stays then.
        """
        opened = await asyncio.to_thread(_opened, path, self._folder)
        await self.close()
        self._store, self._session = opened.store, opened.session
        self.read_only = opened.read_only
        self.composed = opened.session.draft.turn
        return opened

    async def settle(self) -> None:
        """Write everything."""
        if self._working is not None:
            await self._working
        if self._may_write and self.is_unsaved:
            await asyncio.to_thread(self._write)

    async def close(self) -> None:
        """Write everything and let go; the next thing worth keeping begins a new session."""
        await self.settle()
        await asyncio.to_thread(self._close)
        self._store, self._session = None, Session()
        self._draft, self._streaming, self._ended, self.read_only = None, {}, [], False
        self._edits.clear()
        self._head_changed, self.composed = False, ""
        self.changes.clear()

    def _close(self) -> None:
        if self._store is not None:
            try:
                self._store.close()
            except StorageError as problem:
                self._report(problem)

    @property
    def session(self) -> Session:
        """The session that is open; to be read only."""
        return self._session

    def keep_chat(self, chat: Chat) -> None:
        """Keep the conversation as it is now, at once."""
        self._session.chat = chat
        self._head_changed = True
        self._start()

    def keep_variables(self, values: Mapping[str, str]) -> None:
        """Keep the values of the prompt's variables, at once."""
        self._session.variables = values
        self._head_changed = True
        self._start()

    async def rename(self, title: str) -> bool:
        """Give the session a name and save it whole; whether that was possible."""
        if self._working is not None:
            await self._working
        self._session.title = title
        return await asyncio.to_thread(self._rename, title)

    def _rename(self, title: str) -> bool:
        self._write()
        return self._attempt(lambda store: store.rename(title))


def _opened(path: Path, folder: Path) -> OpenedSession:
    # As with the first save: no start without a session needs the store.
    from workbench.storage.session_store import SessionStore

    opened = SessionStore.open(path)
    if not opened.spare_drafts:
        return opened
    # What was typed in a second window is a session of its own from now on, so that neither draft is lost.
    title = f"draft beside {opened.session.title or path.stem}"
    try:
        for draft in opened.spare_drafts:
            spare = SessionStore.create(new_path(folder, datetime.now()), Session(title=title, draft=draft))
            spare.save()
            spare.close()
    except StorageError as problem:
        # They stay where they are, for the next start.
        return replace(opened, notes=(*opened.notes, str(problem)))
    opened.store.forget_spare_drafts()
    return replace(opened, notes=(*opened.notes, f"kept as the session {title!r}"))
