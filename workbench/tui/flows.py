"""Run flows: coroutines that open screens, wait for their results and call the workspace."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from textual.app import App
from textual.screen import Screen
from textual.widget import Widget
from textual.worker import Worker, WorkerState

from workbench.domain.colour_modes import Mode
from workbench.domain.display import one_line
from workbench.domain.errors import BadValueError, StorageError, WorkbenchError
from workbench.domain.run import Failure

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
"""The coroutine function of a flow; called by the worker that runs it."""
_GROUP = "flows"
_MOST_SECONDS = 1.0
"""The most seconds to wait for a screen to be composed before it is removed."""


def load_flow(name: str) -> Callable[..., Awaitable[None]]:
    """Import the coroutine function `module:function` of `workbench.tui`."""
    module, _, function = name.partition(":")
    flow: Callable[..., Awaitable[None]] = getattr(import_module(f"workbench.tui.{module}"), function)
    return flow


class FlowContext:
    """A flow's access to the application: its workspace, screens and questions."""

    def __init__(self, app: WorkbenchApp, changed: asyncio.Event) -> None:
        self.app = app
        self._changed = changed
        self._shown: Screen[Any] | None = None
        self._is_released = False

    @property
    def workspace(self) -> Workspace:
        """The workspace."""
        return self.app.workspace

    @property
    def commands(self) -> CommandTable:
        """The commands with the user's keys."""
        return self.app.commands

    @property
    def services(self) -> Services:
        """The services of the workspace."""
        return self.app.services

    @property
    def is_opening(self) -> bool:
        """Whether the flow is expected to open a screen and has not yet."""
        return not (self._is_released or self.is_shown)

    @property
    def is_shown(self) -> bool:
        """Whether a screen of the flow is open."""
        return self._shown in self.app.screen_stack

    @property
    def is_alone(self) -> bool:
        """Whether no other flow is running."""
        return self.app.flows.are_all(self)

    def refuse_while_streaming(self) -> None:
        """Raise BadValueError while a run streams."""
        if self.workspace.runs.is_streaming:
            raise BadValueError("Something is already streaming", hint="Stop it with Esc first.")

    def release(self) -> None:
        """Stop holding keys back for the flow's next screen."""
        self._is_released = True

    async def ask(self, screen: Screen[Answer]) -> Answer | None:
        """Show a screen and return its result; None if it is closed without one."""
        answered = self.app.push_screen(screen, wait_for_dismiss=True)
        self._shown = screen
        self._changed.set()
        try:
            return await answered
        finally:
            await self._remove(screen)

    async def _remove(self, screen: Screen[Any]) -> None:
        """Remove the screen of a cancelled flow, and all screens on top of it."""
        if self.app.is_running and screen in self.app.screen_stack:
            # A widget removed while it is composed would not find its children.
            await _composed(screen)
        while self.app.is_running and screen in self.app.screen_stack:
            if (top := self.app.screen) is screen:
                self.app.pop_screen()
            else:
                top.dismiss(None)

    @property
    def mode(self) -> Mode:
        """The measure that the colours of tokens show."""
        return self.app.main.output.view.mode

    @asynccontextmanager
    async def running(self, under_way: UnderWay) -> AsyncIterator[None]:
        """Register an activity with the workspace; stop it and wait for its end on exit."""
        self.workspace.runs.under_way.append(under_way)
        try:
            yield
        finally:
            # It stays registered until it has ended, even if the flow is cancelled meanwhile.
            await asyncio.shield(self._end(under_way))

    async def _end(self, under_way: UnderWay) -> None:
        await under_way.aclose()
        self.workspace.runs.under_way.remove(under_way)

    async def agreed(self, cost: Cost) -> bool:
        """Return whether requests may be sent; ask if their cost is above the configured limit."""
        return not self.must_confirm(cost) or await self.confirmed(str(cost), "send", "cancel")

    def must_confirm(self, cost: Cost) -> bool:
        """Return whether requests of a cost are sent only after a question."""
        return cost.must_be_confirmed(self.services.config.confirm_above)

    async def confirmed(self, question: str, yes: str, no: str) -> bool:
        """Ask a question with two answers; return whether the answer is yes."""
        from workbench.tui.popups.question import Question

        answer = await self.ask(Question(question, yes, no))
        return answer is True

    async def ask_file(self, title: str, proposed: str, own: Path | None = None) -> Path | None:
        """Ask for the path of a file to write, and confirm to replace an existing file.

        `own` is the session's own file. Raises StorageError if it is chosen, or if the path is inaccessible.
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
        """Show a warning."""
        self.app.notify(message, title=title, severity="warning")

    def fail(self, error: WorkbenchError, title: str) -> None:
        """Show an error."""
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
    """Return the flows of the application."""
    flows: Flows = app.flows  # type: ignore[attr-defined]
    return flows


def asks(
    action: Callable[Concatenate[Owner, FlowContext, Subject], Awaitable[None]],
) -> Callable[Concatenate[Owner, Subject], None]:
    """Run a method of a screen as a flow, so that it can open screens on top."""

    @wraps(action)
    def start(owner: Owner, /, *args: Subject.args, **kwargs: Subject.kwargs) -> None:
        flows_of(owner.app).run(lambda flow: action(owner, flow, *args, **kwargs))

    return start


class Flows:
    """Runs flows as workers of the application. An error in a flow is shown, and ends only that flow."""

    def __init__(self, app: WorkbenchApp) -> None:
        self._app = app
        self._running: dict[Worker[Any], FlowContext] = {}
        self.changed = asyncio.Event()
        """Set whenever a flow opens a screen or ends."""

    def start(self, name: str, *subject: object) -> Worker[None]:
        """Run a flow by its name in the table of commands, with further arguments."""
        return self.run(lambda flow: load_flow(name)(flow, *subject))

    def run(self, story: Story) -> Worker[None]:
        """Run a flow, once the workspace has what is typed and selected on the main screen."""
        if self._app.main.is_mounted:
            self._app.main.report()
        flow = FlowContext(self._app, self.changed)

        async def follow() -> None:
            # Workers call only coroutine functions, and a story may be a lambda.
            await story(flow)

        worker: Worker[None] = self._app.run_worker(follow, group=_GROUP, exit_on_error=False)
        self._running[worker] = flow
        return worker

    def is_opening(self) -> bool:
        """Return whether a flow is expected to open a screen."""
        return any(flow.is_opening for flow in self._running.values())

    def are_all(self, flow: FlowContext) -> bool:
        """Return whether no other flow is running."""
        return all(running is flow or worker.is_finished for worker, running in self._running.items())

    def release(self) -> None:
        """Stop holding keys back for the next screens of the running flows."""
        for flow in self._running.values():
            flow.release()

    def stop(self) -> None:
        """Stop the runs, keeping what they received; if none streams, cancel flows without a screen."""
        runs = self._app.workspace.runs
        if runs.is_streaming:
            runs.stop()
            return
        for worker, flow in self._running.items():
            if not flow.is_shown:
                worker.cancel()

    def note_state(self, worker: Worker[Any], state: WorkerState) -> None:
        """Handle a worker's change of state; show the error of a failed flow."""
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
