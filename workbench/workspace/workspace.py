"""The session that is open: its draft, its runs, its conversation, and what may be undone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.domain.errors import BadValueError, StorageError
from workbench.domain.preset import Preset
from workbench.domain.prompt import Prompt, TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.domain.session import Draft, Session
from workbench.domain.variables import fill_prompt
from workbench.storage.presets import load_presets
from workbench.workspace.drafting import EXAMPLE, Drafting, first_draft
from workbench.workspace.keeper import Keeper, Keepers, is_same_file
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

CLOSING_SECONDS = 10.0
"""How long leaving waits for the disk."""


class Workspace:
    """What a person has open. Whoever shows it subscribes, and receives each notification as it happens."""

    def __init__(self, services: Services, keeper: Keeper | None = None) -> None:
        """`keeper` has the session to begin with; None begins a new one."""
        self.services = services
        self.history = History()
        self.keepers = Keepers(services.folders.data / "sessions", enabled=services.config.autosave)
        self.keeper = keeper or self.keepers.new()
        self.drafting = Drafting(services, self.history, self._notify)
        self.runs = Runs(services, self.keeper, self.history, self._notify)
        self.session_path: Path | None = None
        """The session's file, once there is one."""
        self.sends_ids = services.config.branch_ids
        """Whether branches are sent as token ids also where the prompt was text."""
        self.typed_axes: tuple[str, ...] = ("temperature=0:1.5:0.25", "", "1")
        """The axes of a sweep that were typed last."""
        self._chat: ChatSession | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._listeners: list[Callable[[Notification], None]] = []

    def subscribe(self, listener: Callable[[Notification], None]) -> None:
        """Tell somebody each thing as it happens."""
        self._listeners.append(listener)

    def unsubscribe(self, listener: Callable[[Notification], None]) -> None:
        """Tell them nothing more."""
        self._listeners.remove(listener)

    def _notify(self, notification: Notification) -> None:
        for listener in self._listeners:
            listener(notification)

    @property
    def prompt(self) -> Prompt:
        """The draft's prompt with its variables filled in.

        Raises BadValueError where it is not a prompt of its kind, or only some variables have a value.
        """
        return fill_prompt(self.drafting.prompt, self.session.variables)

    @property
    def request(self) -> Request:
        """What the draft would send, with what is being typed in the panel.

        Raises BadValueError where that is not a value, or the prompt is not one.
        """
        parameters = self.drafting.requested_parameters
        return Request(self.prompt, self.drafting.requested_model, parameters)

    # --- what is done ------------------------------------------------------------------------------------

    def send(self, request: Request, branch: Branch | None = None, split: Split | None = None) -> Run:
        """Send a request as the run that streams, to the draft's endpoint and under its preset's name."""
        preset = self.drafting.preset_of(request.parameters)
        return self.runs.send(request, self.drafting.endpoint, preset, branch, split)

    def note_branch(self, run: Run, label: str, prompt: Prompt | None = None) -> None:
        """Let undo take a branch that was sent out of the session, and the draft's prompt back with it.

        `prompt` takes the draft's place.
        """
        with self.history.group(label):
            if prompt is not None:
                self.drafting.set_prompt(prompt)
            self.history.record(label, RemoveRuns((run,), is_branch=True))

    def set_variables(self, values: Mapping[str, str]) -> None:
        """Give the prompt's variables their values."""
        self.history.record("the variables", self._make(UseVariables(values)))

    def conversation(self) -> ChatSession:
        """The session's conversation, whose next message is sent under the draft's parameters.

        Raises BadValueError where what is being typed in the panel is not a value.
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
        """The conversation of this session."""
        assert self._chat is not None
        return self._chat

    def undo(self) -> None:
        """Undo the newest change, and report which; what is being typed in the panel is one."""
        self.drafting.take_typed()
        label = self.history.undo(self._make)
        self._notify(Notice(f"Undone: {label}" if label else "Nothing to undo."))

    def redo(self) -> None:
        """Redo the change last undone, and report which."""
        self.drafting.take_typed()
        label = self.history.redo(self._make)
        self._notify(Notice(f"Redone: {label}" if label else "Nothing to redo."))

    def _make(self, step: Step) -> Step:
        """Make a step of a change; the step that undoes it."""
        match step:
            case ReplaceText() | UseSettings():
                return self.drafting.make(step)
            case RemoveRuns() | RestoreRuns() | NameRun():
                return self.runs.make(step)
            case UseChat() | ExchangeTurns():
                # Whoever recorded it is kept as long as the session.
                return self.talk.make(step)
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
        """The session that is open; to be read only."""
        return self.keeper.session

    def begin(self) -> None:
        """Begin with what a new person finds, under the preset that is configured."""
        self._show(first_draft(self._configured_preset(), EXAMPLE))

    def begin_session(self) -> None:
        """Begin a new session as it is configured; the one before is written meanwhile."""
        self._leave(self.keepers.new())
        drafting = self.drafting
        if self.services.is_endpoint_typed or self.services.config.endpoint:
            drafting.endpoint, drafting.model = self.services.endpoint, self.services.model
        draft = first_draft(self._configured_preset())
        self._show(replace(draft, model=draft.model or drafting.model))
        self.session_path = None
        self._notify(SessionChanged())

    def _configured_preset(self) -> Preset | None:
        if not (name := self.services.config.preset):
            return None
        try:
            return load_presets(self.services.folders).named(name)
        except StorageError as problem:
            self._notify(Notice(str(problem), "config.toml"))
            return None

    async def open(self, path: Path, may_leave: Callable[[], bool] = lambda: True) -> None:
        """Continue with another session; opening the one that is open changes nothing.

        `may_leave` is asked once the file is read, which may take a while, and keeps the session otherwise.
        Raises StorageError where the file cannot be read; the session stays then.
        """
        if is_same_file(self.keeper.path, path):
            return
        keeper, opened = await self.keepers.open(path)
        if not may_leave():
            keeper.begin_closing()
            return
        self._leave(keeper)
        # A file that is not a session has no draft: the one there is stays.
        error = opened.error
        self._show(opened.session.draft if error is None else self.drafting.draft)
        self._notify(SessionChanged(opened.text, error, (error.line or 1) if error is not None else 1))
        for note in opened.notes:
            self._notify(Notice(note, "Session"))

    def _leave(self, keeper: Keeper) -> None:
        self.tick()
        # From now on, so that whoever opens the session again waits for it.
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
        """Hold another draft, and take it as it is for what the session holds."""
        self.drafting.show(draft)
        self.history.clear()
        self.keeper.begin_with(self.drafting.draft)

    def tick(self) -> None:
        """Write what changed, with what is being typed in the panel; call it once a second."""
        draft = self.drafting.draft
        with suppress(BadValueError):
            draft = replace(draft, parameters=self.drafting.requested_parameters)
        self.keeper.edited(draft)
        self.keeper.tick()
        self._tell_of_saving()

    def _tell_of_saving(self) -> None:
        problems, notes = self.keeper.take_problems()
        for problem in problems:
            words = f"{problem}\nEverything is still in memory; saving will be retried."
            self._notify(Notice(words, "Not saved", is_error=True))
        for note in notes:
            self._notify(Notice(note, "Session"))
        if self.keeper.path is not None:
            self.session_path = self.keeper.path

    async def save_as(self, title: str) -> bool:
        """Give the session a name and save it; whether that was possible."""
        self.tick()
        is_saved = await self.keeper.rename(title)
        self._notify(SessionNamed())
        return is_saved

    async def read_changes(self) -> None:
        """Show the runs that other windows and programs added to the session."""
        keeper = self.keeper
        added = await keeper.news()
        if added and keeper is self.keeper:
            self.runs.add(added)

    async def problem_in_saving(self) -> str:
        """Why not everything is written after a while of trying; empty where it is."""
        self.tick()
        return await self.keepers.problem_after(CLOSING_SECONDS)

    async def aclose(self) -> None:
        """Stop what streams, wait until it has ended, and write everything."""
        await self.runs.aclose()
        self.tick()
        await self.keepers.aclose(CLOSING_SECONDS)
        self._tell_of_saving()
