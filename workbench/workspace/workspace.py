"""The open session: its draft, runs, conversation and undo history."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.domain.errors import BadValueError, StorageError
from workbench.domain.preset import Preset
from workbench.domain.prompt import Prompt, TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.domain.session import Draft, Session
from workbench.domain.variables import fill_prompt
from workbench.workspace.drafting import Drafting
from workbench.workspace.first_draft import EXAMPLE, first_draft
from workbench.workspace.keeper import CLOSING_SECONDS, Keeper, Keepers, is_same_file
from workbench.workspace.notifications import (
    Notice,
    Notification,
    SessionChanged,
    SessionNamed,
    VariablesChanged,
)
from workbench.workspace.runs import Runs
from workbench.workspace.services import Services
from workbench.workspace.undo_history import (
    ExchangeTurns,
    History,
    NameRun,
    RemoveRuns,
    ReplaceText,
    RestoreRuns,
    Step,
    UseChat,
    UseSettings,
    UseVariables,
)

if TYPE_CHECKING:
    from workbench.domain.split import Split
    from workbench.runner.branching import Branch
    from workbench.workspace.chat_session import ChatSession


class Workspace:
    """The open session and everything that belongs to it. Subscribers receive its notifications."""

    def __init__(self, services: Services, keeper: Keeper | None = None) -> None:
        """`keeper` holds the session to open; None starts a new session."""
        self.services = services
        self.history = History()
        self.keepers = Keepers(services.folders.data / "sessions", enabled=services.config.autosave)
        self.keeper = keeper or self.keepers.new()
        self.drafting = Drafting(services, self.history, self._notify)
        self.runs = Runs(services, self.keeper, self.history, self._notify)
        self.session_path: Path | None = None
        """The session file; None before it is created."""
        self.sends_ids = services.config.branch_ids
        """Whether branches are sent as token ids even if the prompt was text."""
        self.typed_axes: tuple[str, ...] = ("temperature=0:1.5:0.25", "", "1")
        """The sweep axes typed last."""
        self._chat: ChatSession | None = None
        self._is_reading = False
        self._closing: set[asyncio.Task[None]] = set()
        self._listeners: list[Callable[[Notification], None]] = []

    def subscribe(self, listener: Callable[[Notification], None]) -> None:
        """Call a listener with each notification."""
        self._listeners.append(listener)

    def unsubscribe(self, listener: Callable[[Notification], None]) -> None:
        """Stop calling a listener."""
        self._listeners.remove(listener)

    def _notify(self, notification: Notification) -> None:
        for listener in self._listeners:
            listener(notification)

    @property
    def prompt(self) -> Prompt:
        """The draft's prompt with its variables filled in.

        Raises BadValueError if it is invalid for its kind, or only some variables have a value.
        """
        return fill_prompt(self.drafting.prompt, self.session.variables)

    @property
    def request(self) -> Request:
        """The request that the draft makes, including a value being typed in the panel.

        Raises BadValueError if that value or the prompt is invalid.
        """
        parameters = self.drafting.requested_parameters
        return Request(self.prompt, self.drafting.requested_model, parameters)

    # --- actions -----------------------------------------------------------------------------------------

    def send(
        self,
        request: Request,
        branch: Branch | None = None,
        split: Split | None = None,
        *,
        added: tuple[str, ...] = (),
    ) -> Run:
        """Send a request to the draft's endpoint as the main screen's run, recording the preset's name.

        `added` names parameters that the user did not set.
        """
        preset = self.drafting.preset_of(request.parameters)
        return self.runs.send(request, self.drafting.endpoint, preset, branch, split, added=added)

    def note_branch(self, run: Run, label: str, prompt: Prompt | None = None) -> None:
        """Record a branch that was sent, so that undo removes it.

        `prompt` replaces the draft's prompt as part of the same change.
        """
        with self.history.group(label):
            if prompt is not None:
                self.drafting.set_prompt(prompt)
            self.history.record(label, RemoveRuns((run,), is_branch=True))

    def set_variables(self, values: Mapping[str, str]) -> None:
        """Set the values of the prompt's variables."""
        self.history.record("the variables", self._apply(UseVariables(values)))

    def conversation(self) -> ChatSession:
        """Return the session's conversation, set to the draft's endpoint, model and parameters.

        Raises BadValueError if the value being typed in the panel is invalid.
        """
        from workbench.workspace.chat_session import ChatSession

        parameters = self.drafting.requested_parameters.set("n", None).set("best_of", None)
        draft = Request(TextPrompt(""), self.drafting.requested_model, parameters)
        if self._chat is None:
            self._chat = ChatSession(self, self.drafting.endpoint, draft)
        self._chat.begin(self.drafting.endpoint, draft)
        self._chat.preset = self.drafting.preset_of(parameters)
        return self._chat

    @property
    def talk(self) -> ChatSession:
        """The session's conversation, after `conversation` was called once."""
        assert self._chat is not None
        return self._chat

    def undo(self) -> None:
        """Undo the newest change, including a value being typed in the panel, and report its label."""
        self.drafting.take_typed()
        label = self.history.undo(self._apply)
        self._notify(Notice(f"Undone: {label}" if label else "Nothing to undo."))

    def redo(self) -> None:
        """Redo the change last undone, and report its label."""
        self.drafting.take_typed()
        label = self.history.redo(self._apply)
        self._notify(Notice(f"Redone: {label}" if label else "Nothing to redo."))

    def _apply(self, step: Step) -> Step:
        """Apply a step of the undo history; return the step that undoes it."""
        match step:
            case ReplaceText() | UseSettings():
                return self.drafting.apply(step)
            case RemoveRuns() | RestoreRuns() | NameRun():
                return self.runs.apply(step)
            case UseChat() | ExchangeTurns():
                # The chat exists: it recorded the step, and lives as long as the session.
                return self.talk.apply(step)
            case UseVariables(values):
                before = self.session.variables
                self.keeper.keep_variables(values)
                if self._chat is not None:
                    self._chat.turns_changed()
                self._notify(VariablesChanged())
                return UseVariables(before)

    # --- the session -------------------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """The open session; do not modify it."""
        return self.keeper.session

    def begin(self) -> None:
        """Start with the example draft for a new user, and the configured preset."""
        self._show(first_draft(self._configured_preset(), EXAMPLE))

    def begin_session(self) -> None:
        """Start a new session from the configuration; the previous one is saved in the background."""
        self._leave(self.keepers.new())
        drafting = self.drafting
        if self.services.is_endpoint_typed or self.services.config.endpoint:
            drafting.endpoint, drafting.model = self.services.endpoint, self.services.model
        draft = first_draft(self._configured_preset())
        self._show(draft._replace(model=draft.model or drafting.model))
        self.session_path = None
        self._notify(SessionChanged())

    def _configured_preset(self) -> Preset | None:
        if not (name := self.services.config.preset):
            return None
        try:
            return self.services.presets().named(name)
        except StorageError as problem:
            self._notify(Notice(str(problem), "config.toml"))
            return None

    async def open(self, path: Path, may_leave: Callable[[], bool] = lambda: True) -> None:
        """Open another session; does nothing if it is already open.

        `may_leave` is called once the file is read, which may take a while; the new session is closed again
        if it returns False. Raises StorageError if the file cannot be read; the current session stays open.
        """
        if is_same_file(self.keeper.path, path):
            return
        keeper, opened = await self.keepers.open(path)
        if not may_leave():
            keeper.begin_closing()
            return
        self._leave(keeper)
        # A file that is not a valid session has no draft, so the current draft stays.
        error = opened.error
        self._show(opened.session.draft if error is None else self.drafting.draft)
        self._notify(SessionChanged(opened.text, error, (error.line or 1) if error is not None else 1))
        for note in opened.notes:
            self._notify(Notice(note, "Session"))

    def _leave(self, keeper: Keeper) -> None:
        self.tick()
        # Closing begins before the task runs, so that reopening the session waits for it.
        self.keeper.begin_closing()
        task = asyncio.create_task(self._close(self.keeper))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
        self.keeper, self._chat = keeper, None
        self.runs.begin_with(keeper)

    async def _close(self, keeper: Keeper) -> None:
        await keeper.close()
        for problem in keeper.take_problems()[0]:
            self._notify(Notice(str(problem), "Not saved", is_error=True))

    def _show(self, draft: Draft) -> None:
        """Show another draft as the session's saved draft, and clear the undo history."""
        self.drafting.show(draft)
        self.history.clear()
        self.keeper.begin_with(self.drafting.draft)

    def tick(self) -> None:
        """Save changes, including a value being typed in the panel; call this once a second."""
        draft = self.drafting.draft
        with suppress(BadValueError):
            draft = draft._replace(parameters=self.drafting.requested_parameters)
        self.keeper.edited(draft)
        self.keeper.tick()
        self._report_saving()

    def _report_saving(self) -> None:
        problems, notes = self.keeper.take_problems()
        for problem in problems:
            message = f"{problem}\nEverything is still in memory; saving will be retried."
            self._notify(Notice(message, "Not saved", is_error=True))
        for note in notes:
            self._notify(Notice(note, "Session"))
        if self.keeper.path is not None:
            self.session_path = self.keeper.path

    async def save_as(self, title: str) -> bool:
        """Rename the session and save it; return whether that succeeded."""
        self.tick()
        is_saved = await self.keeper.rename(title)
        self._notify(SessionNamed())
        return is_saved

    async def read_changes(self) -> None:
        """Show the runs that other windows and programs added to the session.

        Does nothing while another call waits for the disk, or while a run streams, which stays the last run.
        """
        if self._is_reading or self.runs.is_streaming:
            return
        self._is_reading, keeper = True, self.keeper
        try:
            added = await keeper.news()
        finally:
            self._is_reading = False
        if added and keeper is self.keeper:
            self.runs.add(added)

    async def problem_in_saving(self) -> str:
        """Try to save everything for `CLOSING_SECONDS`; return the error, empty on success."""
        self.tick()
        return await self.keepers.problem_after(CLOSING_SECONDS)

    async def aclose(self) -> None:
        """Stop all streaming runs, wait until they end, and save everything."""
        await self.runs.aclose()
        self.tick()
        await self.keepers.aclose(CLOSING_SECONDS)
        self._report_saving()
