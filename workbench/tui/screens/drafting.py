"""The draft of the main screen: what is sent, where to, and the session that keeps it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from textual import on
from textual.message import Message
from textual.timer import Timer
from textual.widgets import TextArea
from textual.worker import Worker

from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError, StorageError, WorkbenchError
from workbench.domain.parameters import FIRST_DRAFT
from workbench.domain.prompt import Prompt, count_prompts
from workbench.domain.request import Parameters
from workbench.domain.run import Failure
from workbench.domain.session import Draft
from workbench.domain.variables import fill_prompt
from workbench.storage.endpoints import endpoint_for
from workbench.tui.notes import offer, probe_notes
from workbench.tui.screens.frame import FrameScreen
from workbench.tui.services import Services
from workbench.tui.token_styles import TokenStyles
from workbench.tui.tokenizing import PromptCounter, token_ids
from workbench.tui.widgets.parameter_panel import ParameterPanel
from workbench.tui.widgets.prompt_editor import PromptEditor
from workbench.workspace.history import Changes
from workbench.workspace.keeper import Keeper, Keepers, is_same_file

EXAMPLE = "The lighthouse keeper opened the door and"
"""The prompt of the very first draft."""

SAVE_SECONDS = 1.0
"""How often what changed is written."""
CLOSING_SECONDS = 10.0
"""How long leaving waits for the disk."""
NEWS_SECONDS = 2.0
"""How often runs are looked for that another window or program added to the session."""


class DraftScreen(FrameScreen):
    """Holds the draft, lets a person choose what it is sent to, and keeps it in a session."""

    @dataclass
    class Begun(Message):
        """The draft of the start is there, to be typed into."""

    @dataclass
    class SessionOpened(Message):
        """Another session's file is the one to come back to."""

        path: Path | None

    def __init__(self, services: Services, styles: TokenStyles, session: Path | None) -> None:
        """`session` is the file to go on with, None to begin with the example."""
        super().__init__(styles, services.commands)
        self.services = services
        self.endpoint = services.endpoint
        self.model = services.model
        self._keepers = Keepers(services.folders.data / "sessions", enabled=services.config.autosave)
        self.keeper = self._keepers.new()
        self.changes = Changes()
        """What a person did to the session and may take back; forgotten when another one is opened."""
        self.noted = Draft()
        """The draft as the newest of the changes left it."""
        self.session_path = session
        """The session's file, once there is one."""
        self._keeping: Timer | None = None
        self._looking: Worker[None] | None = None
        self._counter = PromptCounter(services, self._show_token_count)

    @property
    def asked_model(self) -> str:
        """The model that a request names: the one chosen, else the endpoint's own; empty names none."""
        return self.model or self.endpoint.model

    @property
    def is_streaming(self) -> bool:
        """Whether something streams."""
        return False

    async def on_mount(self) -> None:
        """Show the draft, ready to run."""
        self.inspector.show(None)
        self._begin_with_example()
        self.prompt.focus()
        self._keeping = self.set_interval(SAVE_SECONDS, self._keep)
        self.set_interval(NEWS_SECONDS, self._look_for_news)
        for problem in self.services.problems:
            self.notify(str(problem), title="Configuration", severity="warning", markup=False, timeout=10)
        # Who comes back to a session has chosen already.
        if self.session_path is None and (words := offer(self.services)):
            self.notify(words, markup=False, timeout=10)
        if self.session_path is not None:
            self.call_after_refresh(self._begin_with_session, self.session_path)
        else:
            self.call_after_refresh(self.post_message, self.Begun())

    async def _begin_with_session(self, path: Path) -> None:
        await self.open_session(path)
        if self.services.is_endpoint_typed:
            self.use_endpoint(self.services.endpoint)
        if self.services.model:
            self.use_model(self.services.model)
        # What was typed at the start is no change that could be taken back.
        self.noted = self.draft
        self.post_message(self.Begun())

    async def aclose(self) -> None:
        """Write everything and let go of the session; `session_path` is where it is."""
        if self._keeping is None:
            return
        self._counter.stop()
        self._keeping.stop()
        self._keeping = None
        self.keeper.edited(self.draft)
        await self._keepers.aclose(CLOSING_SECONDS)
        self.session_path = self.keeper.path or self.session_path

    # --- the draft ---------------------------------------------------------------------------------------

    @property
    def draft(self) -> Draft:
        """What editor and panel hold, whether or not it could be sent."""
        # What is being typed is the panel's until it is a value.
        with suppress(BadValueError):
            self._parameters = self.parameters.parameters
        return Draft(self.endpoint.name, self.model, "", self.prompt.text, self.prompt.kind, self._parameters)

    _parameters = Parameters()
    """The last parameters that were all values."""

    def show_draft(self, draft: Draft) -> None:
        """Let editor and panel hold another draft."""
        self.prompt.set_kind(draft.kind)
        self.prompt.load_text(draft.prompt)
        self.prompt.move_cursor(self.prompt.document.end)
        self.parameters.set_parameters(draft.parameters)
        if draft.endpoint and draft.endpoint != self.endpoint.name:
            try:
                self.use_endpoint(endpoint_for(draft.endpoint, None, self.services.endpoints))
            except BadValueError as problem:
                self.notify(str(problem), title="Endpoint", severity="warning", markup=False)
                # Never another one in its place: the draft was meant for that endpoint.
                self.use_endpoint(Endpoint(draft.endpoint, ""))
        self.use_model(draft.model)

    @property
    def filled_prompt(self) -> Prompt:
        """What the editor holds, with its variables filled in.

        Raises BadValueError where it is no prompt of its kind, or a variable has no value while others have.
        """
        return fill_prompt(self.prompt.prompt, self.keeper.session.variables)

    @property
    def first_draft(self) -> Draft:
        """What a new person finds."""
        return Draft(prompt=EXAMPLE, parameters=Parameters(FIRST_DRAFT))

    @property
    def new_draft(self) -> Draft:
        """What a further session begins with."""
        return replace(self.draft, prompt="")

    def _begin_with_example(self) -> None:
        self.show_draft(self.first_draft)
        self.use_endpoint(self.endpoint)
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Take the draft as it is for what the session holds."""
        self.changes.clear()
        self.noted = self.draft
        self.keeper.begin_with(self.noted)
        self.show_session()

    @on(TextArea.Changed, "#prompt")
    @on(PromptEditor.KindChanged)
    def count_prompt(self) -> None:
        """Say how many prompts and tokens the draft holds."""
        self._counter.stop()
        # Where it is no prompt, the editor's own frame says so.
        with suppress(BadValueError):
            prompt = self.filled_prompt
            self.parameters.set_prompt_count(count_prompts(prompt))
            self._counter.count(self.endpoint, prompt)

    def _show_token_count(self, count: int | None) -> None:
        self.prompt.set_token_count(count)

    async def _token_ids(self, text: str) -> tuple[int, ...]:
        return await token_ids(self.services, self.endpoint, text)

    def attempt(self, action: Callable[[], object]) -> None:
        """Do something; where a value is not allowed, say so in the output and that nothing was sent."""
        try:
            action()
        except BadValueError as problem:
            failure = Failure(problem.title, problem.message, problem.hint)
            self.output.fail(failure, "nothing was sent", problem.field, was_sent=False)

    # --- the session -------------------------------------------------------------------------------------

    def _keep(self) -> None:
        self.keeper.edited(self.draft)
        self.keeper.tick()
        self.show_session()

    def _look_for_news(self) -> None:
        # While something streams, its run is the last one; what others did is shown after it.
        is_looking = self._looking is not None and not self._looking.is_finished
        if self._keeping is not None and not is_looking and not self.is_streaming:
            self._looking = self.run_worker(self._show_news(), group="news")

    async def _show_news(self) -> None:
        if added := await self.keeper.news():
            self.output.add(added)

    def save_now(self) -> None:
        """Hand everything over to be written at once."""
        self.keeper.edited(self.draft)
        self.keeper.tick()

    async def problem_in_saving(self) -> str:
        """Why not everything is written after a while of trying; empty where it is."""
        self.keeper.edited(self.draft)
        return await self._keepers.problem_after(CLOSING_SECONDS)

    def show_session(self) -> None:
        """Show the session's name, whether it is saved, and what there is to say of saving it."""
        problems, notes = self.keeper.take_told()
        for problem in problems:
            words = f"{problem}\nEverything is still in memory and is tried again."
            self.notify(words, title="Not saved", severity="error", markup=False, timeout=10)
        for note in notes:
            self.notify(note, title="Session", markup=False)
        self.header.session = self.keeper.title
        self.header.unsaved = self.keeper.is_unsaved
        if self.keeper.path not in (None, self.session_path):
            self._use_path(self.keeper.path)

    def _use_path(self, path: Path | None) -> None:
        self.session_path = path
        self.post_message(self.SessionOpened(path))

    async def open_session(self, path: Path) -> None:
        """Continue with another session; opening the one that is open changes nothing."""
        if is_same_file(self.keeper.path, path):
            return
        self.keeper.edited(self.draft)
        try:
            keeper, opened = await self._keepers.open(path)
        except StorageError as problem:
            self.output.fail(Failure.of(problem), "nothing was changed", was_sent=False)
            return
        # What was typed while the file was read is the old session's.
        self.keeper.edited(self.draft)
        self._leave(keeper)
        self.output.show_runs(opened.session.runs)
        if opened.error is not None:
            self.output.show_text(opened.text, opened.error.line or 1)
            self.output.fail(Failure.of(opened.error), "opened to read only", was_sent=False)
        else:
            self.show_draft(opened.session.draft)
        for note in opened.notes:
            self.notify(note, title="Session", markup=False)
        self._begin_anew()

    def _leave(self, keeper: Keeper) -> None:
        """Go on with another session; the one before is written meanwhile."""
        self.show_session()
        self.run_worker(self._close(self.keeper), group="closing")
        self.keeper = keeper

    async def _close(self, keeper: Keeper) -> None:
        await keeper.close()
        for problem in keeper.take_told()[0]:
            self.notify(str(problem), title="Not saved", severity="error", markup=False, timeout=10)

    def begin_session(self) -> None:
        """Begin a new session as it is configured, else with the endpoint and parameters there are."""
        self.keeper.edited(self.draft)
        self._leave(self._keepers.new())
        self.output.show_runs([])
        self.show_draft(self.new_draft)
        if self.services.is_endpoint_typed or self.services.config.endpoint:
            self.use_endpoint(self.services.endpoint)
            self.use_model(self.services.model)
        self._use_path(None)
        self._begin_anew()
        self.prompt.focus()

    # --- choosing ----------------------------------------------------------------------------------------

    @on(ParameterPanel.ModelAsked)
    def _choose_model(self) -> None:
        self.do("choose_model")

    def action_edit_prompt(self) -> None:
        """Edit the prompt in the person's editor."""
        from workbench.tui.external_editor import edit_text

        environment = dict(self.services.environment)
        if self.services.config.editor:
            environment["VISUAL"] = self.services.config.editor
        try:
            self.prompt.replace_all(edit_text(self.app, self.prompt.text, environment))
        except WorkbenchError as problem:
            self.notify(str(problem), title="Editor", severity="error", markup=False)

    def use_endpoint(self, endpoint: Endpoint) -> None:
        """Send to another endpoint from now on, and ask for its own model."""
        if endpoint.name != self.endpoint.name:
            self.model = ""
        self.endpoint = endpoint
        self.parameters.limits = endpoint.limits
        self.parameters.tokenizer = self._token_ids if endpoint.tokenizer else None
        self.parameters.set_notes(probe_notes(self.services.folders, endpoint.name))
        self.prompt.set_token_count(None)
        self.count_prompt()
        self.header.endpoint = endpoint.name
        self._show_model()

    def use_model(self, model: str) -> None:
        """Ask for another model from now on."""
        self.model = model
        self._show_model()

    @on(ParameterPanel.ModelUnset)
    def _use_own_model(self) -> None:
        self.use_model("")

    def _show_model(self, answered: str = "") -> None:
        self.parameters.set_model(self.asked_model)
        self.header.model = self.asked_model or answered
