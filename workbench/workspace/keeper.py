"""Save a session from a background thread, so that nothing is lost and the event loop never waits for a disk.

Every write is a job holding its own copy of the values. Only the session's writer thread touches the file;
it keeps jobs that fail and retries them.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from operator import is_not
from os.path import lexists, realpath
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct

from workbench.domain.conversation import Chat
from workbench.domain.display import one_line
from workbench.domain.errors import BusyError, StorageError
from workbench.domain.run import Run
from workbench.domain.session import Draft, Session, in_order

if TYPE_CHECKING:
    from workbench.storage.journal import Increment, Increments
    from workbench.storage.session_store import News, OpenedSession, SessionStore

T = TypeVar("T")

SAVE_SECONDS = 1.0
"""Seconds between the screen's calls of `tick`, which write an edited draft and the streaming runs."""
CLOSING_SECONDS = 10.0
"""Seconds that quitting waits for the disk."""
_WATCH_SECONDS = 0.5
"""Seconds between the writes of `watch`, so that a token is stored within a second."""
_ATTEMPT_SECONDS = 1.0
"""Seconds that one attempt waits for another program to release the file, while more jobs may arrive."""
_BUSY_SECONDS = 20.0
"""Seconds that another program may hold the file before the error is reported."""


class _Job(Struct, frozen=True):
    """A write to the session file."""

    kind: str
    """`stream`, `draft`, `run`, `edit` or a part of the head; a later draft or part supersedes an earlier."""
    do: Callable[[SessionStore], object]

    def is_outdated_by(self, later: _Job) -> bool:
        """Whether a later job supersedes this one."""
        return self.kind == later.kind and self.kind not in ("stream", "run", "edit")


class _Call(Generic[T]):
    """A function to call on the writer thread, once all earlier jobs were tried."""

    def __init__(self, ask: Callable[[_Writer], T], answer: Future[T]) -> None:
        self._ask = ask
        self._answer = answer

    def run(self, writer: _Writer) -> Callable[[], None]:
        """Call the function; return a callback that passes its result or exception to the future."""
        try:
            found = self._ask(writer)
        except Exception as error:  # noqa: BLE001 - the future passes every exception to the caller
            return partial(self._answer.set_exception, error)
        return partial(self._answer.set_result, found)


class _WriterState(Struct, frozen=True):
    """The state of the writer thread, published for the event loop."""

    path: Path | None = None
    jobs: int = 0
    """Number of jobs tried."""
    is_waiting: bool = False
    """Whether a write failed and will be retried."""
    problem: str = ""
    """The error last reported; empty once everything is written."""


class _Writer:
    """The writer thread of a session. Other threads use only `written`, `reports`, `put` and `ask`."""

    def __init__(self, folder: Path, session: Session) -> None:
        self.state = _WriterState()
        self.reports: SimpleQueue[StorageError | str] = SimpleQueue()
        """New errors, and notes about the file."""
        self._folder = folder
        self._initial_session = session
        self._store: SessionStore | None = None
        self._queue: SimpleQueue[_Job | _Call[Any] | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._waiting: list[_Job] = []
        self._tried = 0
        self._problem = self._reason = ""
        self._busy_since: float | None = None
        self._patience = _BUSY_SECONDS
        self._is_closed = False

    # --- for the event loop ------------------------------------------------------------------------------

    def put(self, item: _Job | _Call[Any] | None) -> None:
        """Queue an item; None retries the waiting jobs."""
        if self._thread is None:
            # A daemon thread, so that a hanging disk cannot block the exit.
            self._thread = Thread(target=self._work, name="session", daemon=True)
            self._thread.start()
        self._queue.put(item)

    def ask(self, ask: Callable[[_Writer], T]) -> Future[T]:
        """Call a function on the thread after everything queued before; return a future of its result."""
        answer: Future[T] = Future()
        # A running future cannot be cancelled: a caller that stops waiting must not cancel the write.
        answer.set_running_or_notify_cancel()
        self.put(_Call(ask, answer))
        return answer

    @property
    def is_unused(self) -> bool:
        """Whether the thread was never started."""
        return self._thread is None

    # --- the thread --------------------------------------------------------------------------------------

    def _work(self) -> None:
        while not self._is_closed:
            item = self._queue.get()
            if isinstance(item, _Job):
                self._waiting = [job for job in self._waiting if not job.is_outdated_by(item)] + [item]
                self._tried += 1
            self._try_all()
            if isinstance(item, _Call):
                report = item.run(self)
                self._publish_state()
                report()
            else:
                self._publish_state()

    def _publish_state(self) -> None:
        if self._store is not None:
            for note in self._store.notes:
                self.reports.put(note)
            self._store.notes = []
        path = self._store.path if self._store is not None else None
        self.state = _WriterState(path, self._tried, not self.is_all_written, self._problem)

    @property
    def is_all_written(self) -> bool:
        """Whether every job has been written."""
        return not self._waiting and (self._store is None or not self._store.unsaved)

    def _try_all(self) -> None:
        kept: list[_Job] = []
        is_busy = has_failed = has_written = False
        for job in self._waiting:
            # Streams and drafts go to files of their own, so they proceed while another program writes.
            needs_file = job.kind not in ("stream", "draft")
            if (is_busy and needs_file) or (has_failed and job.kind == "edit"):
                kept.append(job)
                continue
            error = self._attempt(job.do)
            has_written = has_written or error is None
            is_busy = is_busy or isinstance(error, BusyError)
            if error is not None and not self._is_in_store(job):
                kept.append(job)
                has_failed = has_failed or job.kind == "edit"
        self._waiting = kept
        if self._store is not None and self._store.unsaved and not is_busy:
            has_written = self._attempt(lambda store: store.flush()) is None or has_written
        if has_written and self.is_all_written:
            self._problem = self._reason = ""

    def _is_in_store(self, job: _Job) -> bool:
        """Whether the store keeps a failed job in memory and retries it itself."""
        return self._store is not None and job.kind in ("stream", "run")

    def _attempt(self, write: Callable[[SessionStore], object]) -> StorageError | None:
        try:
            write(self._opened_store())
        except StorageError as problem:
            error = problem
        except Exception as defect:  # noqa: BLE001 - a defect must not end the thread that saves the rest
            detail = one_line(f"{type(defect).__name__}: {defect}", 200)
            error = StorageError("The workbench failed while saving", detail, "Everything else is saved.")
        else:
            self._busy_since = None
            return None
        self._report(error)
        return error

    def _report(self, error: StorageError) -> None:
        if isinstance(error, BusyError):
            self._busy_since = self._busy_since or monotonic()
            if monotonic() - self._busy_since < self._patience:
                return
        # Compared without the path: a session without a file is tried under a new name each time.
        reason = error.message or error.title
        if reason != self._reason:
            self._reason, self._problem = reason, str(error)
            self.reports.put(error)

    def _opened_store(self) -> SessionStore:
        if self._store is None:
            # The store and its locks take a twentieth of the import time: deferred to the first save.
            from workbench.storage.session_store import SessionStore

            self._use(SessionStore.create(new_path(self._folder, datetime.now()), self._initial_session))
        assert self._store is not None
        return self._store

    def _use(self, store: SessionStore) -> None:
        store.wait_at_most(_ATTEMPT_SECONDS)
        self._store = store

    # --- calls on the thread -----------------------------------------------------------------------------

    def open(self, path: Path, *, create: bool) -> OpenedSession:
        """Open a session file. Raises StorageError if it cannot be read."""
        from workbench.storage.session_store import SessionStore

        opened = SessionStore.open(path, create=create)
        self._use(opened.store)
        # The event loop gets copies of the runs, as the store keeps changing its own.
        session = replace(opened.session, runs=list(map(replace, opened.session.runs)))
        opened = replace(opened, session=session)
        return self._with_spare_drafts(opened, path) if opened.spare_drafts else opened

    def _with_spare_drafts(self, opened: OpenedSession, path: Path) -> OpenedSession:
        """Save the drafts of other windows as new sessions, so that no draft is lost."""
        from workbench.storage.session_store import SessionStore

        title = f"draft beside {opened.session.title or path.stem}"
        try:
            for draft in opened.spare_drafts:
                session = Session(title=title, draft=draft)
                spare = SessionStore.create(new_path(self._folder, datetime.now()), session)
                spare.save()
                spare.close()
        except StorageError as problem:
            # The draft files remain and are tried again at the next start.
            return replace(opened, notes=(*opened.notes, str(problem)))
        opened.store.forget_spare_drafts()
        return replace(opened, notes=(*opened.notes, f"kept as the session {title!r}"))

    def continue_in(self, copy: Session) -> None:
        """Write to a new session from now on, leaving the opened file unchanged."""
        self._store, self._initial_session = None, copy

    def poll(self) -> News | None:
        """Return the changes that other programs made to the session; None without a file or on an error."""
        if self._store is None:
            return None
        try:
            return self._store.poll()
        except StorageError as problem:
            self._report(problem)
            return None

    def close(self) -> bool:
        """Write all that can be written and close the store; return whether everything was written."""
        self._is_closed = True
        if self._store is not None:
            self._store.wait_at_most(_BUSY_SECONDS)
        self._patience = 0.0
        self._try_all()
        if self._store is None:
            return not self._waiting
        return self._attempt(lambda store: store.close()) is None and self.is_all_written


def new_path(folder: Path, now: datetime) -> Path:
    """Return an unused file name for an unnamed session."""
    stem = f"{now:%Y-%m-%d-%H%M%S}"
    names = (folder / f"{stem}{'' if number == 1 else f'-{number}'}.toml" for number in range(1, 1000))
    return next(path for path in names if not lexists(path))


class Keeper:
    """A session and its file, which the first change creates. To be used from the event loop."""

    def __init__(self, folder: Path, *, enabled: bool = True) -> None:
        """`folder` is where unnamed sessions go; `enabled` saves them."""
        self.session = Session()
        """The session in memory; change it only through the keeper."""
        self.read_only = False
        self.composed = ""
        """The unsent message in the chat composer, saved with the draft."""
        self.closing: Future[bool] | None = None
        """Resolves to whether everything was written; None until closing begins."""
        self._enabled = enabled
        self._writer = _Writer(folder, replace(self.session, runs=[]))
        self._draft: Draft | None = None
        self._streaming: dict[str, Increments] = {}
        self._held: list[_Job] = []
        """Jobs that wait for the session to be named, where unnamed sessions are not saved."""
        self._put_jobs = 0
        self._notes: list[str] = []
        self._has_draft = False
        """Whether the file has a draft, or will get one from a queued job."""

    async def open(self, path: Path, *, create: bool = False) -> OpenedSession:
        """Load the session of a file; `create` starts a new one if the file does not exist.

        Raises StorageError if the file cannot be read.
        """
        # Set before the file is read, so that a second open of the same file waits for this one to close.
        self._writer.state = _WriterState(path)
        answer = self._writer.ask(lambda writer: writer.open(path, create=create))
        try:
            opened = await asyncio.wrap_future(answer)
        except BaseException:
            # Even if this call was cancelled, the thread opens the file and keeps its lock until it closes.
            self.begin_closing()
            raise
        self.session, self.read_only = opened.session, opened.read_only
        self.composed = opened.session.draft.turn
        self._has_draft = not create or bool(opened.session.runs)
        return opened

    @property
    def path(self) -> Path | None:
        """The session file; None before it is created."""
        return self._writer.state.path

    @property
    def title(self) -> str:
        """The session title as the header shows it."""
        return one_line(self.session.title, 60) or "untitled"

    @property
    def is_unsaved(self) -> bool:
        """Whether any change has not reached the disk."""
        state = self._writer.state
        return self._draft is not None or bool(self._held) or state.is_waiting or state.jobs != self._put_jobs

    @property
    def problem(self) -> str:
        """The error last reported; empty if everything was written."""
        return self._writer.state.problem

    # --- changes -----------------------------------------------------------------------------------------

    def begin_with(self, draft: Draft) -> None:
        """Set the session's draft without saving it."""
        self.session.draft = self._completed(draft)
        self._draft = None

    def edited(self, draft: Draft) -> None:
        """Save an edited draft at the next tick."""
        draft = self._completed(draft)
        self._draft = None if draft == self.session.draft else draft

    def _completed(self, draft: Draft) -> Draft:
        """Add the composer's text and the unknown keys of the session's draft to a draft from the screen."""
        return draft._replace(turn=self.composed, other=self.session.draft.other)

    def began(self, run: Run) -> None:
        """Save a run at each tick while it streams."""
        from workbench.storage.journal import Increments

        self._streaming[run.id] = Increments(run)

    def ended(self, run: Run) -> None:
        """Save a finished run at once; afterwards only its name can change."""
        self._streaming.pop(run.id, None)
        if self.session.run(run.id) is None:
            self.session.runs.append(run)
        over = replace(run)
        self._put("run", lambda store: store.finish(over))

    def remove(self, run: Run) -> None:
        """Remove a finished run from the session, and at once from its file."""
        self.session.runs[:] = [other for other in self.session.runs if other.id != run.id]
        over = replace(run)
        self._put("edit", lambda store: store.remove(over))

    def restore(self, run: Run, before: Run | None) -> None:
        """Restore a removed run before another run, or as the last."""
        runs, over, id = self.session.runs, replace(run), before.id if before is not None else ""
        index = next((index for index, other in enumerate(runs) if other.id == id), len(runs))
        runs.insert(index, run)
        self._put("edit", lambda store: store.restore(over, id))

    def put_in_order(self, runs: Sequence[Run]) -> bool:
        """Reorder finished runs among the positions they occupy; return whether the order changed."""
        was, ids = self.session.runs, [run.id for run in runs]
        now = in_order(was, ids)
        if not any(map(is_not, was, now)):
            return False
        self.session.runs = now
        self._put("edit", lambda store: store.put_in_order(ids))
        return True

    def name_run(self, run: Run, name: str) -> None:
        """Rename a run; an empty name removes the name."""
        run.name, over = name, replace(run)
        self._put("edit", lambda store: store.name_run(over, name))

    def keep_chat(self, chat: Chat) -> None:
        """Replace the conversation and save it at once."""
        self.session.chat = chat
        self._put("chat", lambda store: store.keep_chat(chat))

    def keep_variables(self, values: Mapping[str, str]) -> None:
        """Replace the values of the prompt's variables and save them at once."""
        self.session.variables = values
        self._put("variables", lambda store: store.keep_variables(values))

    async def rename(self, title: str) -> bool:
        """Set the session's title and save everything; return whether that succeeded."""
        self.session.title = title
        self._put("title", lambda store: store.rename(title))
        self._put_draft()
        return await self.settle()

    # --- writing -----------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Queue new tokens and an edited draft; call every SAVE_SECONDS, and before the process may end."""
        if not self._may_write:
            return
        for increments in self._streaming.values():
            # Copied here, because the event loop appends to the columns while the writer thread runs.
            if (increment := increments.take()) is not None:
                self._put_increment(increment)
        self._put_draft()
        if self._writer.state.is_waiting:
            self._writer.put(None)

    async def watch(self) -> None:
        """Call `tick` repeatedly until cancelled."""
        while True:
            self.tick()
            await asyncio.sleep(_WATCH_SECONDS)

    def _put_increment(self, increment: Increment) -> None:
        self._put("stream", lambda store: store.progress(increment))

    def _put_draft(self) -> None:
        if (draft := self._draft) is not None and self._may_write:
            self.session.draft, self._draft = draft, None
            self._put("draft", lambda store: store.save_draft(draft))

    @property
    def _may_write(self) -> bool:
        return self._enabled or bool(self.session.title)

    def _put(self, kind: str, do: Callable[[SessionStore], object]) -> None:
        if self.read_only:
            self._continue_in_copy()
        self._held.append(_Job(kind, do))
        if self._may_write:
            self._submit_held()

    def _submit_held(self) -> None:
        if not self._has_draft:
            # The first job of a new file is its draft.
            draft = self._draft or self.session.draft
            self._has_draft, self._draft, self.session.draft = True, None, draft
            self._held.insert(0, _Job("draft", lambda store: store.save_draft(draft)))
        held, self._held = self._held, []
        for job in held:
            self._put_jobs += 1
            self._writer.put(job)

    def _continue_in_copy(self) -> None:
        """Continue in a copy under a new title, as the file is read-only."""
        name = self.session.title or (self.path.stem if self.path is not None else "")
        title = f"{name} (copy)"
        runs = list(self.session.runs)
        copy = replace(self.session, id=uuid.uuid4().hex, title=title, created=datetime.now(UTC), runs=runs)
        self.session, self.read_only, self._has_draft = copy, False, False
        theirs = replace(copy, draft=Draft(), runs=list(map(replace, runs)))
        self._writer.ask(lambda writer: writer.continue_in(theirs))
        shown = one_line(title, 60)
        self._notes.append(f"The file is read-only; changes go to a new session, {shown}")

    async def settle(self) -> bool:
        """Write all changes; return whether everything was written."""
        if self.closing is not None:
            return await asyncio.wrap_future(self.closing)
        self.tick()
        if self._writer.is_unused:
            return True
        return await asyncio.wrap_future(self._writer.ask(lambda writer: writer.is_all_written))

    def begin_closing(self) -> Future[bool]:
        """Write everything and close the file; return a future of whether everything was written.

        Nothing may be changed afterwards.
        """
        if self.closing is None:
            self.tick()
            if self._writer.is_unused:
                self.closing = Future()
                self.closing.set_result(True)
            else:
                self.closing = self._writer.ask(lambda writer: writer.close())
        return self.closing

    async def close(self) -> bool:
        """Write everything and close the file; return whether everything was written."""
        return await asyncio.wrap_future(self.begin_closing())

    # --- reports -----------------------------------------------------------------------------------------

    async def news(self) -> list[Run]:
        """Merge the changes of other windows and programs; return the runs they added since the last call."""
        if self._writer.is_unused:
            return []
        jobs = self._put_jobs
        news = await asyncio.wrap_future(self._writer.ask(lambda writer: writer.poll()))
        if news is None:
            return []
        if news.session is not None:
            from workbench.storage.session_store import HEAD, take_over

            was_changed = jobs != self._put_jobs
            take_over(self.session, news.session, keeps=HEAD if was_changed else ())
            if was_changed:
                self.keep_chat(self.session.chat)
        added = [replace(run) for run in news.runs if self.session.run(run.id) is None]
        self.session.runs += added
        return added

    def take_problems(self) -> tuple[list[StorageError], list[str]]:
        """Return new write errors, and notes about the file; each is returned once."""
        problems: list[StorageError] = []
        while not self._writer.reports.empty():
            match self._writer.reports.get():
                case StorageError() as problem:
                    problems.append(problem)
                case str() as note:
                    self._notes.append(note)
        notes, self._notes = self._notes, []
        return problems, notes


class Keepers:
    """The keepers of this process, including those still closing."""

    def __init__(self, folder: Path, *, enabled: bool = True) -> None:
        """`folder` is where unnamed sessions go; `enabled` saves them."""
        self._folder = folder
        self._enabled = enabled
        self._all: list[Keeper] = []

    def new(self) -> Keeper:
        """Create a keeper with a new session."""
        keeper = Keeper(self._folder, enabled=self._enabled)
        self._all.append(keeper)
        return keeper

    async def open(self, path: Path, *, create: bool = False) -> tuple[Keeper, OpenedSession]:
        """Open a file in a new keeper, after waiting for a keeper that is still closing the same file.

        Raises StorageError if the file cannot be read.
        """
        self._all = [other for other in self._all if other.closing is None or not other.closing.done()]
        for other in self._all:
            if other.closing is not None and is_same_file(other.path, path):
                await asyncio.wrap_future(other.closing)
        keeper = Keeper(self._folder, enabled=self._enabled)
        try:
            opened = await keeper.open(path, create=create)
        finally:
            self._all.append(keeper)
        return keeper, opened

    async def problem_after(self, seconds: float) -> str:
        """Try to write everything for at most so many seconds; return the error, or "" on success."""
        settling = [asyncio.create_task(keeper.settle()) for keeper in self._all]
        done, waiting = await asyncio.wait(settling, timeout=seconds)
        if not waiting and all(task.result() for task in done):
            return ""
        problems = [keeper.problem for keeper in self._all if keeper.problem]
        return problems[0] if problems else f"The disk did not respond for {seconds:.0f} seconds."

    async def aclose(self, seconds: float) -> bool:
        """Close all sessions; return whether everything was written within so many seconds."""
        closing = [asyncio.wrap_future(keeper.begin_closing()) for keeper in self._all]
        if not closing:
            return True
        done, waiting = await asyncio.wait(closing, timeout=seconds)
        return not waiting and all(task.result() for task in done)


def is_same_file(path: Path | None, other: Path | None) -> bool:
    """Whether two paths refer to the same file."""
    return path is not None and other is not None and realpath(path) == realpath(other)
