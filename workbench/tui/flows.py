"""Flows: one coroutine each, with what a person is asked and what is done with the answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from textual.app import App
from textual.screen import Screen
from textual.widget import Widget
from textual.worker import Worker, WorkerState

from workbench.domain.display import one_line
from workbench.domain.errors import BadValueError, StorageError, WorkbenchError
from workbench.domain.run import Failure
from workbench.domain.token_levels import Mode

if TYPE_CHECKING:
    from workbench.tui.app import WorkbenchApp
    from workbench.tui.commands.keymap import CommandTable
    from workbench.workspace.costs import Cost
    from workbench.workspace.runs import UnderWay
    from workbench.workspace.services import Services
    from workbench.workspace.workspace import Workspace

Answer = TypeVar("Answer")
Subject = ParamSpec("Subject")
Owner = TypeVar("Owner", bound=Widget)
Story: TypeAlias = "Callable[[FlowContext], Awaitable[None]]"
"""What a flow tells from top to bottom; called only by the worker that runs it."""
_GROUP = "flows"
_MOST_SECONDS = 1.0
"""How long a screen that is to be removed may take to be composed."""


def load_flow(name: str) -> Callable[..., Awaitable[None]]:
    """The coroutine function that `module:function` names, under `workbench.tui`."""
    module, _, function = name.partition(":")
    flow: Callable[..., Awaitable[None]] = getattr(import_module(f"workbench.tui.{module}"), function)
    return flow


class FlowContext:
    """What a flow works with: the application, and the questions that it asks there."""

    def __init__(self, app: WorkbenchApp, changed: asyncio.Event) -> None:
        self.app = app
        self._changed = changed
        self._shown: Screen[Any] | None = None
        self._is_released = False

    @property
    def workspace(self) -> Workspace:
        """What is open, and everything that can be done to it."""
        return self.app.workspace

    @property
    def commands(self) -> CommandTable:
        """The commands with the person's keys."""
        return self.app.commands

    @property
    def services(self) -> Services:
        """What sends requests and reads files."""
        return self.app.services

    @property
    def is_opening(self) -> bool:
        """Whether the flow shows no screen of its own now, and is expected to."""
        return not (self._is_released or self.is_shown)

    @property
    def is_shown(self) -> bool:
        """Whether a screen of the flow is open."""
        return self._shown in self.app.screen_stack

    @property
    def is_alone(self) -> bool:
        """Whether no other flow is under way."""
        return self.app.flows.are_all(self)

    def refuse_while_streaming(self) -> None:
        """Raises BadValueError while something streams."""
        if self.workspace.runs.is_streaming:
            raise BadValueError("Something is already streaming", hint="Stop it with Esc first.")

    def release(self) -> None:
        """Let keys go where they go now: the flow takes longer than a person waits for it."""
        self._is_released = True

    async def ask(self, screen: Screen[Answer]) -> Answer | None:
        """Show a screen and return what it answers, None where it is closed without an answer."""
        answered = self.app.push_screen(screen, wait_for_dismiss=True)
        self._shown = screen
        self._changed.set()
        try:
            return await answered
        finally:
            await self._remove(screen)

    async def _remove(self, screen: Screen[Any]) -> None:
        """Remove a screen that is still there as its flow was cancelled, and all that lies on top of it."""
        if self.app.is_running and screen in self.app.screen_stack:
            # A widget that is removed while it is composed would look in vain for those within it.
            await _composed(screen)
        while self.app.is_running and screen in self.app.screen_stack:
            if (top := self.app.screen) is screen:
                self.app.pop_screen()
            else:
                top.dismiss(None)

    @property
    def mode(self) -> Mode:
        """What the colours of tokens show."""
        return self.app.main.output.view.mode

    @asynccontextmanager
    async def running(self, under_way: UnderWay) -> AsyncIterator[None]:
        """Have something be under way; it is stopped at the end, and waited for."""
        self.workspace.runs.under_way.append(under_way)
        try:
            yield
        finally:
            # It stays under way until it has ended, also where the flow waits for that no more.
            await asyncio.shield(self._end(under_way))

    async def _end(self, under_way: UnderWay) -> None:
        await under_way.aclose()
        self.workspace.runs.under_way.remove(under_way)

    async def agreed(self, cost: Cost) -> bool:
        """Ask before sending something that may cost more than the limit for doing so without asking."""
        return not self.must_confirm(cost) or await self.confirmed(str(cost), "send", "cancel")

    def must_confirm(self, cost: Cost) -> bool:
        """Whether something is sent only after a question."""
        return cost.must_be_confirmed(self.services.config.confirm_above)

    async def confirmed(self, question: str, yes: str, no: str) -> bool:
        """Ask a question with two answers; whether it is answered with yes."""
        from workbench.tui.popups.question import Question

        answer = await self.ask(Question(question, yes, no))
        return answer is True

    async def ask_file(self, title: str, proposed: str, own: Path | None = None) -> Path | None:
        """Ask for the path of a file to write; one that is there is replaced only after a question.

        `own` is a file that is never replaced. Raises StorageError where the path cannot be looked at.
        """
        from workbench.tui.popups.question import LinePopup, typed_path

        if (typed := await self.ask(LinePopup(title, proposed))) is None:
            return None
        path = typed_path(typed)
        question = f"Replace the file {one_line(str(path), 60)}?"
        if await asyncio.to_thread(_is_there, path, own):
            return path if await self.confirmed(question, "replace", "cancel") else None
        return path

    def warn(self, message: str, title: str) -> None:
        """Say why something was not done."""
        self.app.notify(message, title=title, severity="warning")

    def fail(self, error: WorkbenchError, title: str) -> None:
        """Say what went wrong."""
        self.app.notify(str(error), title=title, severity="error", timeout=10)


async def _composed(screen: Screen[Any]) -> None:
    composed = asyncio.Event()
    with suppress(TimeoutError):
        async with asyncio.timeout(_MOST_SECONDS):
            if screen.call_later(composed.set):
                await composed.wait()


def _is_there(path: Path, own: Path | None) -> bool:
    try:
        is_there = path.exists()
        if is_there and own is not None and own.exists() and path.samefile(own):
            raise StorageError("That is the session itself.")
    except OSError as error:
        raise StorageError(f"{one_line(str(path), 80)}: {error.strerror or error}") from error
    return is_there


def flows_of(app: App[object]) -> Flows:
    """What runs the flows of the application."""
    flows: Flows = app.flows  # type: ignore[attr-defined]
    return flows


def asks(
    action: Callable[Concatenate[Owner, FlowContext, Subject], Awaitable[None]],
) -> Callable[Concatenate[Owner, Subject], None]:
    """Run what a screen does as a flow, so that it can ask on top of the screen."""

    @wraps(action)
    def start(owner: Owner, /, *args: Subject.args, **kwargs: Subject.kwargs) -> None:
        flows_of(owner.app).run(lambda flow: action(owner, flow, *args, **kwargs))

    return start


async def _follow(story: Story, flow: FlowContext) -> None:
    # A worker calls coroutine functions alone, and stories may be partial or bound ones too.
    await story(flow)


class Flows:
    """Runs flows as workers of the application; what goes wrong in one is shown, and ends only that one."""

    def __init__(self, app: WorkbenchApp) -> None:
        self._app = app
        self._running: dict[Worker[Any], FlowContext] = {}
        self.changed = asyncio.Event()
        """Set whenever a flow has opened a screen or ended."""

    def start(self, name: str, *subject: object) -> Worker[None]:
        """Run a flow by its name in the table of commands, about `subject` if it is about something."""
        return self.run(lambda flow: load_flow(name)(flow, *subject))

    def run(self, story: Story) -> Worker[None]:
        """Run a flow; the workspace knows then what is typed and looked at on the main screen."""
        if self._app.main.is_mounted:
            self._app.main.report()
        flow = FlowContext(self._app, self.changed)
        worker: Worker[None] = self._app.run_worker(
            partial(_follow, story, flow), group=_GROUP, exit_on_error=False
        )
        self._running[worker] = flow
        return worker

    def is_opening(self) -> bool:
        """Whether a flow is about to open a screen, or to end."""
        return any(flow.is_opening for flow in self._running.values())

    def are_all(self, flow: FlowContext) -> bool:
        """Whether no flow but this one runs."""
        return all(running is flow or worker.is_finished for worker, running in self._running.items())

    def release(self) -> None:
        """Let keys go where they go now, whatever the flows that run are about to show."""
        for flow in self._running.values():
            flow.release()

    def stop(self) -> None:
        """Stop what streams, with what came of it kept; where nothing does, what flows wait for unseen."""
        runs = self._app.workspace.runs
        if runs.is_streaming:
            runs.stop()
            return
        for worker, flow in self._running.items():
            if not flow.is_shown:
                worker.cancel()

    def note_state(self, worker: Worker[Any], state: WorkerState) -> None:
        """Note that a worker has another state; where it was a flow that failed, say so."""
        if worker not in self._running or state in (WorkerState.PENDING, WorkerState.RUNNING):
            return
        del self._running[worker]
        self.changed.set()
        if state is WorkerState.ERROR and worker.error is not None:
            self._show(worker.error)

    def _show(self, error: BaseException) -> None:
        field = error.field if isinstance(error, BadValueError) else ""
        if isinstance(error, WorkbenchError):
            failure = Failure.of(error)
        else:
            message = one_line(f"{type(error).__name__}: {error}")
            failure = Failure("The workbench failed", message, "Nothing typed, received or saved is lost.")
        if self._app.screen is self._app.main:
            where = "nothing was changed" if isinstance(error, StorageError) else "nothing was sent"
            self._app.main.output.fail(failure, where, field, was_sent=False)
        else:
            message = "\n".join(filter(None, (failure.title, failure.message, failure.hint)))
            self._app.notify(message, title="Not done", severity="error", timeout=10)
