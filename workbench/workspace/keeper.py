"""The one writer of a session: nothing that was typed or streamed is lost, and nobody waits for a disk.

What is to be written goes as jobs with values of their own to the session's thread, which alone touches its
file. What the disk refuses waits there and is tried again.
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
from os.path import realpath
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
"""How often the screen has `tick` write an edited draft and what streams."""
_WATCH_SECONDS = 0.5
"""How often what streams is written: a token is stored before it is a second old."""
_ATTEMPT_SECONDS = 1.0
"""How long one attempt waits for another program that is writing, while more may come to be written."""
_BUSY_SECONDS = 20.0
"""How long another program may be writing before that is shown."""


class _Job(Struct, frozen=True):
    """Something to be written."""

    kind: str
    """`stream`, `draft`, `run`, `edit` or a part of the head; a later draft or part replaces an earlier."""
    do: Callable[[SessionStore], object]

    def is_outdated_by(self, later: _Job) -> bool:
        """Whether a later job makes this one needless."""
        return self.kind == later.kind and self.kind not in ("stream", "run", "edit")


class _Question(Generic[T]):
    """Something that is answered once all before it was tried."""

    def __init__(self, ask: Callable[[_Writer], T], answer: Future[T]) -> None:
        self._ask = ask
        self._answer = answer

    def put(self, writer: _Writer) -> Callable[[], None]:
        """Find the answer, or what goes wrong; calling what is returned reports it to whoever asked."""
        try:
            found = self._ask(writer)
        except Exception as error:  # noqa: BLE001 - whoever asked receives whatever went wrong
            return partial(self._answer.set_exception, error)
        return partial(self._answer.set_result, found)


class _Written(Struct, frozen=True):
    """What the thread did, for others to read."""

    path: Path | None = None
    jobs: int = 0
    """How many it has tried."""
    is_waiting: bool = False
    """Whether something is to be tried again."""
    problem: str = ""
    """Why it is, as it was reported last."""


class _Writer:
    """The session's thread. Its attributes are its own, but for `written`, `reports` and what puts jobs."""

    def __init__(self, folder: Path, session: Session) -> None:
        self.written = _Written()
        self.reports: SimpleQueue[StorageError | str] = SimpleQueue()
        """Each new reason why nothing can be written, and notes."""
        self._folder = folder
        self._begun = session
        self._store: SessionStore | None = None
        self._queue: SimpleQueue[_Job | _Question[Any] | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._waiting: list[_Job] = []
        self._tried = 0
        self._problem = self._reason = ""
        self._busy_since: float | None = None
        self._patience = _BUSY_SECONDS
        self._is_closed = False

    # --- for the event loop ------------------------------------------------------------------------------

    def put(self, item: _Job | _Question[Any] | None) -> None:
        """Hand something over; None to try again what waits."""
        if self._thread is None:
            # Not waited for at the end of the process: a disk that hangs keeps nobody from leaving.
            self._thread = Thread(target=self._work, name="session", daemon=True)
            self._thread.start()
        self._queue.put(item)

    def ask(self, ask: Callable[[_Writer], T]) -> Future[T]:
        """Ask something, which is answered after all before it."""
        answer: Future[T] = Future()
        # Whoever no longer waits for the answer takes nothing away from others, or from what is to be done.
        answer.set_running_or_notify_cancel()
        self.put(_Question(ask, answer))
        return answer

    @property
    def is_needless(self) -> bool:
        """Whether it never had anything to do."""
        return self._thread is None

    # --- the thread --------------------------------------------------------------------------------------

    def _work(self) -> None:
        while not self._is_closed:
            item = self._queue.get()
            if isinstance(item, _Job):
                self._waiting = [one for one in self._waiting if not one.is_outdated_by(item)] + [item]
                self._tried += 1
            self._try_all()
            if isinstance(item, _Question):
                tell = item.put(self)
                self._tell_written()
                tell()
            else:
                self._tell_written()

    def _tell_written(self) -> None:
        if self._store is not None:
            for note in self._store.notes:
                self.reports.put(note)
            self._store.notes = []
        path = self._store.path if self._store is not None else None
        self.written = _Written(path, self._tried, not self.is_all_written, self._problem)

    @property
    def is_all_written(self) -> bool:
        """Whether nothing waits for the disk."""
        return not self._waiting and (self._store is None or not self._store.unsaved)

    def _try_all(self) -> None:
        kept: list[_Job] = []
        is_busy = has_failed = has_written = False
        for job in self._waiting:
            # What has no need of the file itself goes on while another program writes it.
            needs_file = job.kind not in ("stream", "draft")
            if (is_busy and needs_file) or (has_failed and job.kind == "edit"):
                kept.append(job)
                continue
            error = self._attempt(job.do)
            has_written = has_written or error is None
            is_busy = is_busy or isinstance(error, BusyError)
            if error is not None and not self._has(job):
                kept.append(job)
                has_failed = has_failed or job.kind == "edit"
        self._waiting = kept
        if self._store is not None and self._store.unsaved and not is_busy:
            has_written = self._attempt(lambda store: store.flush()) is None or has_written
        if has_written and self.is_all_written:
            self._problem = self._reason = ""

    def _has(self, job: _Job) -> bool:
        """Whether the store has in memory what it could not write, and tries that itself."""
        return self._store is not None and job.kind in ("stream", "run")

    def _attempt(self, write: Callable[[SessionStore], object]) -> StorageError | None:
        try:
            write(self._made())
        except StorageError as problem:
            error = problem
        except Exception as defect:  # noqa: BLE001 - a defect must not end the thread that saves the rest
            words = one_line(f"{type(defect).__name__}: {defect}", 200)
            error = StorageError("The workbench failed while saving", words, "Everything else is saved.")
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
        # A session without a file is tried under another name each time, for the same reason.
        reason = error.message or error.title
        if reason != self._reason:
            self._reason, self._problem = reason, str(error)
            self.reports.put(error)

    def _made(self) -> SessionStore:
        if self._store is None:
            # The store and its locks are a twentieth of all imports: paid for with the first save.
            from workbench.storage.session_store import SessionStore

            self._use(SessionStore.create(new_path(self._folder, datetime.now()), self._begun))
        assert self._store is not None
        return self._store

    def _use(self, store: SessionStore) -> None:
        store.wait_at_most(_ATTEMPT_SECONDS)
        self._store = store

    # --- what is asked -----------------------------------------------------------------------------------

    def open(self, path: Path, *, create: bool) -> OpenedSession:
        """Open a file. Raises StorageError where it cannot be read; the thread ends then."""
        from workbench.storage.session_store import SessionStore

        try:
            opened = SessionStore.open(path, create=create)
        except BaseException:
            self._is_closed = True
            raise
        self._use(opened.store)
        # What the event loop gets is its own.
        session = replace(opened.session, runs=list(map(replace, opened.session.runs)))
        opened = replace(opened, session=session)
        return self._with_spare_drafts(opened, path) if opened.spare_drafts else opened

    def _with_spare_drafts(self, opened: OpenedSession, path: Path) -> OpenedSession:
        """What was typed in a second window is a session of its own from now on: neither draft is lost."""
        from workbench.storage.session_store import SessionStore

        title = f"draft beside {opened.session.title or path.stem}"
        try:
            for draft in opened.spare_drafts:
                session = Session(title=title, draft=draft)
                spare = SessionStore.create(new_path(self._folder, datetime.now()), session)
                spare.save()
                spare.close()
        except StorageError as problem:
            # They stay where they are, for the next start.
            return replace(opened, notes=(*opened.notes, str(problem)))
        opened.store.forget_spare_drafts()
        return replace(opened, notes=(*opened.notes, f"kept as the session {title!r}"))

    def continue_in(self, copy: Session) -> None:
        """Write to a new session from now on; the file that was opened is left alone."""
        self._store, self._begun = None, copy

    def poll(self) -> News | None:
        """What other windows and programs did to the session; None where there is no file."""
        if self._store is None:
            return None
        try:
            return self._store.poll()
        except StorageError as problem:
            self._report(problem)
            return None

    def close(self) -> bool:
        """Write what can be written and let go; whether that was all."""
        self._is_closed = True
        if self._store is not None:
            self._store.wait_at_most(_BUSY_SECONDS)
        self._patience = 0.0
        self._try_all()
        if self._store is None:
            return not self._waiting
        return self._attempt(lambda store: store.close()) is None and self.is_all_written


def new_path(folder: Path, now: datetime) -> Path:
    """A free file name for a session without a name."""
    stem = f"{now:%Y-%m-%d-%H%M%S}"
    names = (folder / f"{stem}{'' if number == 1 else f'-{number}'}.toml" for number in range(1, 1000))
    return next(path for path in names if not path.exists())


class Keeper:
    """A session and its file, which appears with the first thing worth keeping. For the event loop."""

    def __init__(self, folder: Path, *, enabled: bool = True) -> None:
        """`folder` is where unnamed sessions go; `enabled` keeps them."""
        self.session = Session()
        """The session as it is here; to be changed through the keeper only."""
        self.read_only = False
        self.composed = ""
        """What the composer of the conversation holds, kept with the draft."""
        self.closing: Future[bool] | None = None
        """Whether everything was written, once it is closed; None while it is open."""
        self._enabled = enabled
        self._writer = _Writer(folder, replace(self.session, runs=[]))
        self._draft: Draft | None = None
        self._streaming: dict[str, Increments] = {}
        self._held: list[_Job] = []
        """What waits for the session to have a name, where unnamed ones are not kept."""
        self._put_jobs = 0
        self._notes: list[str] = []
        self._has_begun = False
        """Whether the file has a draft."""

    async def open(self, path: Path, *, create: bool = False) -> OpenedSession:
        """Hold the session of a file; `create` begins one where there is none.

        Raises StorageError where the file cannot be read.
        """
        opened = await asyncio.wrap_future(self._writer.ask(lambda writer: writer.open(path, create=create)))
        self.session, self.read_only = opened.session, opened.read_only
        self.composed = opened.session.draft.turn
        self._has_begun = not create or bool(opened.session.runs)
        return opened

    @property
    def path(self) -> Path | None:
        """The session's file, once there is one."""
        return self._writer.written.path

    @property
    def title(self) -> str:
        """What the header calls the session."""
        return one_line(self.session.title, 60) or "untitled"

    @property
    def is_unsaved(self) -> bool:
        """Whether something is only in memory."""
        written = self._writer.written
        return (
            self._draft is not None
            or bool(self._held)
            or written.is_waiting
            or written.jobs != self._put_jobs
        )

    @property
    def problem(self) -> str:
        """Why something could not be written, as it was reported last; empty where all was."""
        return self._writer.written.problem

    # --- what changed ------------------------------------------------------------------------------------

    def begin_with(self, draft: Draft) -> None:
        """Take a draft as what the session holds already."""
        self.session.draft = self._whole(draft)
        self._draft = None

    def edited(self, draft: Draft) -> None:
        """Keep another draft, within two seconds."""
        draft = self._whole(draft)
        self._draft = None if draft == self.session.draft else draft

    def _whole(self, draft: Draft) -> Draft:
        """A draft of the screen with what is composed, and the keys that only another version knows."""
        return replace(draft, turn=self.composed, other=self.session.draft.other)

    def began(self, run: Run) -> None:
        """Keep a run that streams, within a second at any time."""
        from workbench.storage.journal import Increments

        self._streaming[run.id] = Increments(run)

    def ended(self, run: Run) -> None:
        """Keep a run that is over, at once; but for its name, nothing of it changes any more."""
        self._streaming.pop(run.id, None)
        if self.session.run(run.id) is None:
            self.session.runs.append(run)
        over = replace(run)
        self._put("run", lambda store: store.finish(over))

    def remove(self, run: Run) -> None:
        """Take a run out of the session that is over, and out of its file at once."""
        self.session.runs[:] = [one for one in self.session.runs if one.id != run.id]
        over = replace(run)
        self._put("edit", lambda store: store.remove(over))

    def restore(self, run: Run, before: Run | None) -> None:
        """Bring back a run that was removed, before another one or as the last."""
        runs, over, id = self.session.runs, replace(run), before.id if before is not None else ""
        place = next((place for place, one in enumerate(runs) if one.id == id), len(runs))
        runs.insert(place, run)
        self._put("edit", lambda store: store.restore(over, id))

    def put_in_order(self, runs: Sequence[Run]) -> bool:
        """Let runs that are over stand in this order, at the places that they have between them.

        Whether they stood otherwise.
        """
        was, ids = self.session.runs, [run.id for run in runs]
        now = in_order(was, ids)
        if not any(map(is_not, was, now)):
            return False
        self.session.runs = now
        self._put("edit", lambda store: store.put_in_order(ids))
        return True

    def name_run(self, run: Run, name: str) -> None:
        """Give a run another name; an empty one takes it away."""
        run.name, over = name, replace(run)
        self._put("edit", lambda store: store.name_run(over, name))

    def keep_chat(self, chat: Chat) -> None:
        """Keep the conversation as it is now, at once."""
        self.session.chat = chat
        self._put("chat", lambda store: store.keep_chat(chat))

    def keep_variables(self, values: Mapping[str, str]) -> None:
        """Keep the values of the prompt's variables, at once."""
        self.session.variables = values
        self._put("variables", lambda store: store.keep_variables(values))

    async def rename(self, title: str) -> bool:
        """Give the session a name and save it whole; whether that was possible."""
        self.session.title = title
        self._put("title", lambda store: store.rename(title))
        self._put_draft()
        return await self.settle()

    # --- writing -----------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Hand over what streams and was typed; call it every SAVE_SECONDS, and when the process may end."""
        if not self._may_write:
            return
        for increments in self._streaming.values():
            # Copied here and not in the thread, as the columns grow on this one.
            if (increment := increments.take()) is not None:
                self._put_increment(increment)
        self._put_draft()
        if self._writer.written.is_waiting:
            self._writer.put(None)

    async def watch(self) -> None:
        """Write what streams and is typed, until cancelled."""
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
            self._hand_over()

    def _hand_over(self) -> None:
        if not self._has_begun:
            # A file begins with the draft, whatever else is the reason for it.
            draft = self._draft or self.session.draft
            self._has_begun, self._draft, self.session.draft = True, None, draft
            self._held.insert(0, _Job("draft", lambda store: store.save_draft(draft)))
        held, self._held = self._held, []
        for job in held:
            self._put_jobs += 1
            self._writer.put(job)

    def _continue_in_copy(self) -> None:
        """Go on under another name with the session of a file that may not be written."""
        name = self.session.title or (self.path.stem if self.path is not None else "")
        title = f"{name} (copy)"
        runs = list(self.session.runs)
        copy = replace(self.session, id=uuid.uuid4().hex, title=title, created=datetime.now(UTC), runs=runs)
        self.session, self.read_only, self._has_begun = copy, False, False
        theirs = replace(copy, draft=Draft(), runs=list(map(replace, runs)))
        self._writer.ask(lambda writer: writer.continue_in(theirs))
        shown = one_line(title, 60)
        self._notes.append(f"The file is read-only; changes go to a new session, {shown}")

    async def settle(self) -> bool:
        """Write everything that is to be kept; whether that could be written."""
        if self.closing is not None:
            return await asyncio.wrap_future(self.closing)
        self.tick()
        if self._writer.is_needless:
            return True
        return await asyncio.wrap_future(self._writer.ask(lambda writer: writer.is_all_written))

    def begin_closing(self) -> Future[bool]:
        """Write everything and let go, as the last thing that is done; whether everything was written."""
        if self.closing is None:
            self.tick()
            if self._writer.is_needless:
                self.closing = Future()
                self.closing.set_result(True)
            else:
                self.closing = self._writer.ask(lambda writer: writer.close())
        return self.closing

    async def close(self) -> bool:
        """Write everything and let go; whether everything was written."""
        return await asyncio.wrap_future(self.begin_closing())

    # --- what is reported --------------------------------------------------------------------------------

    async def news(self) -> list[Run]:
        """The runs that other windows and programs added to the session since the last call."""
        if self._writer.is_needless:
            return []
        jobs = self._put_jobs
        news = await asyncio.wrap_future(self._writer.ask(lambda writer: writer.poll()))
        if news is None:
            return []
        if news.session is not None:
            from workbench.storage.session_store import take_over

            was_changed = jobs != self._put_jobs
            take_over(self.session, news.session, keeps_head=was_changed)
            if was_changed:
                self.keep_chat(self.session.chat)
        added = [replace(run) for run in news.runs if self.session.run(run.id) is None]
        self.session.runs += added
        return added

    def take_problems(self) -> tuple[list[StorageError], list[str]]:
        """Each new reason why something cannot be written, and notes on the file; each is returned once."""
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
    """The keepers of one program: a session has one at a time."""

    def __init__(self, folder: Path, *, enabled: bool = True) -> None:
        """`folder` is where unnamed sessions go; `enabled` keeps them."""
        self._folder = folder
        self._enabled = enabled
        self._all: list[Keeper] = []

    def new(self) -> Keeper:
        """The keeper of a new session."""
        keeper = Keeper(self._folder, enabled=self._enabled)
        self._all.append(keeper)
        return keeper

    async def open(self, path: Path, *, create: bool = False) -> tuple[Keeper, OpenedSession]:
        """The keeper of a file's session, once one that closes has let go of it.

        Raises StorageError where the file cannot be read.
        """
        self._all = [one for one in self._all if one.closing is None or not one.closing.done()]
        for one in self._all:
            if one.closing is not None and is_same_file(one.path, path):
                await asyncio.wrap_future(one.closing)
        keeper = Keeper(self._folder, enabled=self._enabled)
        opened = await keeper.open(path, create=create)
        self._all.append(keeper)
        return keeper, opened

    async def problem_after(self, seconds: float) -> str:
        """Why not everything is written, once it was tried for so many seconds at most; empty if it is."""
        settling = [asyncio.create_task(one.settle()) for one in self._all]
        done, waiting = await asyncio.wait(settling, timeout=seconds)
        if not waiting and all(one.result() for one in done):
            return ""
        problems = [one.problem for one in self._all if one.problem]
        return problems[0] if problems else f"The disk did not respond for {seconds:.0f} seconds."

    async def aclose(self, seconds: float) -> bool:
        """Close all and wait for the disk; whether everything was written within so many seconds."""
        closing = [asyncio.wrap_future(one.begin_closing()) for one in self._all]
        if not closing:
            return True
        done, waiting = await asyncio.wait(closing, timeout=seconds)
        return not waiting and all(one.result() for one in done)


def is_same_file(one: Path | None, other: Path | None) -> bool:
    """Whether two paths lead to one file."""
    return one is not None and other is not None and realpath(one) == realpath(other)
