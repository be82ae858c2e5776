"""The main screen: composes the panes, moves the focus, and shows the workspace's notifications."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path

from textual import events, getters, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Offset
from textual.message import Message
from textual.notifications import SeverityLevel
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Static, TextArea

from workbench.domain.colour_modes import FIXED, Mode, fitted
from workbench.domain.errors import BadValueError, StorageError
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import count_prompts
from workbench.domain.run import Failure, Outcome, Run
from workbench.domain.what_if import Sampling
from workbench.tui.breakpoints import HEIGHTS, WIDTHS, begin_at_size
from workbench.tui.commands.command import Where
from workbench.tui.commands.keymap import commands_of
from workbench.tui.commands.table import BY_ID, bindings_at
from workbench.tui.flows import flows_of
from workbench.tui.main.error_block import ErrorBlock
from workbench.tui.main.footer import Footer
from workbench.tui.main.header import Header
from workbench.tui.main.inspector import Inspector, TokenStrip
from workbench.tui.main.output_pane import OutputPane
from workbench.tui.main.parameter_panel import ParameterPanel
from workbench.tui.main.prompt_editor import PromptEditor
from workbench.tui.motion import Frames
from workbench.tui.tokenizing import PromptCounter, token_ids
from workbench.tui.tokens.legend import Legend
from workbench.workspace.keeper import SAVE_SECONDS
from workbench.workspace.notifications import (
    AnswerScored,
    EndpointProbed,
    Notice,
    Notification,
    ParametersTyped,
    RunBegan,
    RunEnded,
    RunsAdded,
    RunsChanged,
    RunSelected,
    SessionChanged,
    SessionNamed,
    SettingsChanged,
    TextReplaced,
    VariablesChanged,
)
from workbench.workspace.run_state import IDLE, state_of_newest, waiting_of
from workbench.workspace.workspace import Workspace

LEAST_WIDTH, LEAST_HEIGHT = 60, 16
"""The smallest size in cells at which the panes are shown."""
NEWS_SECONDS = 2.0
"""Seconds between two checks for runs that another window or program added to the session."""

_PANES = {
    "prompt": Where.PROMPT,
    "output": Where.OUTPUT,
    "parameters": Where.PARAMETERS,
    "inspector": Where.INSPECTOR,
}
_IN_DRAWER = (Where.PARAMETERS, Where.INSPECTOR)


class MainScreen(Screen[None]):
    """The prompt, output, parameters and inspector of a workspace."""

    HORIZONTAL_BREAKPOINTS, VERTICAL_BREAKPOINTS = WIDTHS, HEIGHTS
    BINDINGS = bindings_at(Where.EVERYWHERE, Where.ANYWHERE)

    class DraftShown(Message):
        """The initial draft is shown and can be edited."""

    class ModeChanged(Message):
        """The colours of tokens show another measure."""

        def __init__(self, mode: Mode) -> None:
            super().__init__()
            self.mode = mode

    class SessionOpened(Message):
        """Another session was opened, whose file the next start opens."""

        def __init__(self, path: Path | None) -> None:
            super().__init__()
            self.path = path

    prompt = getters.query_one("#prompt", PromptEditor)
    output = getters.query_one("#output", OutputPane)
    parameters = getters.query_one("#parameters", ParameterPanel)
    inspector = getters.query_one("#inspector", Inspector)
    strip = getters.query_one("#strip", TokenStrip)
    side = getters.query_one("#side", Vertical)
    header = getters.query_one(Header)
    footer = getters.query_one(Footer)
    legend = getters.query_one(Legend)

    def __init__(self, workspace: Workspace, session: Path | None, mode: Mode) -> None:
        """`session` is the file to open, None to start with the example; `mode` is what the colours show."""
        super().__init__()
        self._workspace = workspace
        workspace.session_path = self._session = session
        self._first_mode = mode
        self._counter: PromptCounter
        self._frames = Frames(self, self._frame)
        self._waiting = ""
        """The status of a run that waits to be retried."""
        self._is_beginning = session is not None
        self._pane = "prompt"
        """The pane that last had the focus."""

    def compose(self) -> ComposeResult:
        begin_at_size(self, self.app.size)
        yield Header()
        with Horizontal(id="panes"):
            with Vertical(id="work"):
                yield PromptEditor(self._workspace, id="prompt", classes="pane")
                yield OutputPane(id="output", classes="pane")
            with Vertical(id="side"):
                yield ParameterPanel(id="parameters", classes="pane")
                yield Inspector(id="inspector", classes="pane")
        yield TokenStrip(id="strip")
        yield Legend(id="legend")
        yield Footer()

    def on_mount(self) -> None:
        """Show the initial draft, and start the timers."""
        self.output.view.mode = self.legend.mode = self._first_mode
        self.watch(self.output.view, "mode", self._show_mode, init=False)
        self.inspector.show(None)
        self._counter = PromptCounter(self._workspace.services, self.prompt.set_size)
        self._workspace.subscribe(self.show_notification)
        self._workspace.begin()
        self.prompt.show_prompt()
        self.prompt.focus()
        self.set_interval(SAVE_SECONDS, self.keep)
        self.set_interval(NEWS_SECONDS, self._read_changes)
        self.call_after_refresh(self._begin)

    async def _begin(self) -> None:
        from workbench.tui.probe.notes import offer

        services = self._workspace.services
        if self._session is not None:
            await self.open_session(self._session)
            self._is_beginning = False
            self.show_session()
            if services.is_endpoint_typed:
                self._workspace.drafting.use_endpoint(services.endpoint)
            if services.model:
                self._workspace.drafting.use_model(services.model)
            # What the command line set is not a change to undo.
            self._workspace.history.clear()
        elif message := offer(services, commands_of(self.app)):
            # Not offered with a session, whose user has chosen an endpoint before.
            self.notify(message, timeout=10)
        self.post_message(self.DraftShown())

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Do not style the widgets again when the screen is first shown, as mounting styled them."""
        if not self.stack_updates:
            event.refresh_styles = False

    def on_unmount(self) -> None:
        """Unsubscribe from the workspace."""
        self._counter.stop()
        self._workspace.unsubscribe(self.show_notification)

    @property
    def is_current(self) -> bool:
        """Whether any part of the screen is visible.

        Textual assumes that a screen is visible below every other, and redraws the other in full whenever
        this one changes.
        """
        top = self.app.screen
        return super().is_current and (top is self or isinstance(top, ModalScreen))

    # --- notifications of the workspace ------------------------------------------------------------------

    def show_notification(self, notification: Notification) -> None:  # noqa: PLR0912 - a case for each thing that happens
        """Show a notification of the workspace."""
        match notification:
            case TextReplaced(change):
                self.prompt.show_change(change)
            case SettingsChanged():
                self._show_settings()
            case ParametersTyped():
                self._show_what_if()
                self.prompt.describe()
            case EndpointProbed():
                self._show_probe()
            case SessionNamed():
                self.show_session()
            case VariablesChanged():
                self.count_prompt()
            case SessionChanged(text, error, line):
                self.output.show_runs(self._workspace.runs)
                self._show_state()
                self.prompt.show_prompt()
                if error is not None:
                    self.output.show_text(text, line)
                    self.output.fail(Failure.of(error), "opened read-only", was_sent=False)
                self.show_session()
            case RunBegan(run):
                if self.where in _IN_DRAWER and self.has_class("-narrow"):
                    # The drawer would cover the answer.
                    self.output.focus_view()
                self.output.begin(run)
                self.legend.scale = fitted(run.request.parameters)
                self.footer.running = True
                self._frames.resume()
                self._frame()
            case RunEnded(run):
                self._show_end(run)
            case RunsAdded(runs, is_sent_here):
                if is_sent_here:
                    for run in runs:
                        self.output.begin(run)
                        self.output.end(run)
                else:
                    self.output.add(list(runs))
            case RunsChanged():
                self.output.show_runs(self._workspace.runs)
                self._show_state()
            case RunSelected(run, choice, position):
                self.output.go_to(run, choice, position)
            case AnswerScored(second):
                self.output.show_second(second)
            case Notice(message, title, is_error):
                severity: SeverityLevel = "error" if is_error else "information"
                self.notify(message, title=title, severity=severity, timeout=10 if title else 3)

    def _show_settings(self) -> None:
        drafting, panel = self._workspace.drafting, self.parameters
        preset, endpoint = drafting.preset, drafting.endpoint
        if preset is None:
            panel.set_parameters(drafting.parameters)
        else:
            panel.set_parameters(drafting.parameters, preset.applied_to(drafting.parameters), preset.name)
        panel.limits = endpoint.limits
        tokenizer = partial(token_ids, self._workspace.services, endpoint)
        panel.tokenizer = tokenizer if endpoint.tokenizer else None
        self.call_after_refresh(self._show_probe)
        panel.model = self.header.model = drafting.requested_model
        self.header.endpoint = endpoint.name
        self.prompt.set_size(None)
        self.count_prompt()
        self._show_what_if()

    def _show_probe(self) -> None:
        from workbench.tui.probe.notes import probe_notes

        workspace = self._workspace
        name = workspace.drafting.endpoint.name
        self.parameters.notes = probe_notes(workspace.services.folders, name)

    def _show_what_if(self) -> None:
        self.inspector.set_sampling(
            _sampling(self._workspace.drafting.parameters), self._workspace.drafting.endpoint.samplers
        )

    def _show_end(self, run: Run) -> None:
        self.output.end(run)
        activity = self._workspace.runs.activity
        if run is not activity.run:
            return
        self._frames.pause()
        self._frame()
        self.footer.running = False
        # The run may have started the local model, which can tokenize now.
        self.count_prompt()
        key = commands_of(self.app)["run"].first_key
        lacks = self._workspace.runs.lacks(run)
        self.legend.note = f"{key} offers to send one request for each" if lacks else ""
        self.header.model = self._workspace.drafting.requested_model or run.model
        if run.outcome is Outcome.ERROR and run.error is not None:
            endpoint = activity.endpoint
            described = f"{run.endpoint} {run.error.message} {run.error.hint}"
            url = endpoint.address if endpoint is not None and endpoint.address not in described else ""
            self.output.fail(run.error, f"at {run.endpoint} {url}".rstrip())

    def _frame(self) -> None:
        self.output.pull()
        self._show_state()
        if (waiting := waiting_of(self._workspace.runs.activity)) != self._waiting:
            self._waiting = waiting
            self.output.show_waiting(waiting)

    def _show_state(self) -> None:
        """Show the state of the run sent last, if it is among those shown."""
        runs = self._workspace.runs
        is_shown = any(run is runs.activity.run for run in reversed(runs))
        self.header.state = state_of_newest(runs.activity) if is_shown else IDLE
        if not is_shown:
            self.legend.note = ""

    # --- the draft ---------------------------------------------------------------------------------------

    def report(self) -> None:
        """Give the workspace what is being typed in the panel, and the selected token and group."""
        self._workspace.runs.selected = self.output.token
        self._workspace.runs.selected_group = self.output.blocks.current
        try:
            self._workspace.drafting.note_typed(self.parameters.parameters)
        except BadValueError as problem:
            self._workspace.drafting.note_typed(problem)

    @on(ParameterPanel.Changed)
    def take_parameters(self) -> None:
        """Copy the panel's parameters to the draft, including what is being typed if it is valid."""
        self.report()
        self._workspace.drafting.take_typed()

    @on(TextArea.Changed, "#prompt")
    def count_prompt(self) -> None:
        """Count the prompts and tokens of the draft."""
        self._counter.stop()
        # The editor shows why a text is not a valid prompt.
        with suppress(BadValueError):
            prompt = self._workspace.prompt
            self.parameters.prompt_count = count_prompts(prompt)
            drafting = self._workspace.drafting
            self._counter.count(drafting.endpoint, drafting.requested_model, prompt)

    @on(ParameterPanel.ModelRequested)
    def _change_model(self, event: ParameterPanel.ModelRequested) -> None:
        if event.is_unset:
            self._workspace.drafting.use_model("")
        else:
            self.do("choose_model")

    # --- the session -------------------------------------------------------------------------------------

    def keep(self) -> None:
        """Save what changed."""
        self.report()
        self._workspace.tick()
        self.show_session()

    def show_session(self) -> None:
        """Show the session's name, and whether it is saved."""
        # At the start, the session's name is unknown until its file has been read.
        self.header.session = "" if self._is_beginning else self._workspace.keeper.title
        self.header.unsaved = self._workspace.keeper.is_unsaved
        if self._workspace.session_path != self._session:
            self._session = self._workspace.session_path
            self.post_message(self.SessionOpened(self._session))

    @work(group="news")
    async def _read_changes(self) -> None:
        await self._workspace.read_changes()

    async def open_session(self, path: Path) -> None:
        """Open another session, or show why it cannot be read."""
        self.keep()
        try:
            await self._workspace.open(path)
        except StorageError as problem:
            self.output.fail(Failure.of(problem), "nothing was changed", was_sent=False)

    # --- focus -------------------------------------------------------------------------------------------

    @property
    def _focused_pane(self) -> str:
        """The id of the pane that has the focus, or an empty string."""
        nodes = self.focused.ancestors_with_self if self.focused is not None else ()
        return next((node.id for node in nodes if node.id in _PANES), "")

    @property
    def where(self) -> Where:
        """Where the keys apply: the focused pane, or the group of runs selected in the output."""
        pane = self._focused_pane
        is_on_group = pane == "output" and self.output.blocks.current is not None
        return Where.GROUP if is_on_group else _PANES.get(pane, Where.ANYWHERE)

    @on(events.DescendantFocus)
    def _show_keys(self) -> None:
        self._workspace.history.seal()
        self.footer.where = where = self.where
        self._pane = self._focused_pane or self._pane
        if where not in _IN_DRAWER:
            self.close_drawer()

    def on_resize(self, event: events.Resize) -> None:
        """Show a notice if the window is too small, and restore the focus once it is not."""
        is_tiny = event.size.width < LEAST_WIDTH or event.size.height < LEAST_HEIGHT
        self.set_class(is_tiny, "-tiny")
        if is_tiny and not self.query("#notice"):
            notice = f"Window too small ({LEAST_WIDTH}x{LEAST_HEIGHT} minimum). Runs continue."
            self.mount(Static(Content(notice), id="notice"), before=self.footer)
        if self.focused is None and not is_tiny:
            # Textual takes the focus from a pane that is hidden.
            self.call_after_refresh(self.go_to, self._pane)

    def open_drawer(self, pane: str) -> None:
        """Show a side pane, which is a drawer on a narrow screen."""
        self.side.set_class(pane == "inspector", "-inspecting")
        self.side.add_class("-open")

    def close_drawer(self) -> bool:
        """Close the drawer; return whether it was open."""
        was_open = self.side.has_class("-open")
        self.side.remove_class("-open", "-inspecting")
        return was_open and self.has_class("-narrow")

    def action_focus_prompt(self) -> None:
        """Focus the prompt."""
        self.set_focus(self.prompt)

    def action_focus_parameters(self) -> None:
        """Focus the parameters, on the field that an error names."""
        if self.output.error.field:
            self.parameters.go_to(self.output.error.field)
        self.go_to("parameters")

    def action_focus_output(self) -> None:
        """Focus the output."""
        self.output.focus_view()
        self.output.go_to_newest_group()

    @on(OutputPane.InspectRequested)
    def _go_to_inspector(self) -> None:
        self.go_to("inspector")

    @property
    def jump_targets(self) -> list[tuple[str, Offset]]:
        """The visible panes and fields to jump to, and the offset for the letter of each."""
        panes = (self.prompt, self.output, self.parameters, self.inspector)
        panes_shown = [(pane.id or "", pane.region.offset) for pane in panes if pane.region.area]
        fields = self.parameters.rows_in_view
        return [*panes_shown, *((name, Offset(max(at.x - 1, 0), at.y)) for name, at in fields)]

    def go_to(self, target: str) -> None:
        """Focus a pane or a field by its name."""
        match target:
            case "output":
                self.output.focus_view()
            case _ if target in _PANES:
                if _PANES[target] in _IN_DRAWER:
                    self.open_drawer(target)
                self.set_focus(self.query_one(f"#{target}"))
            case _ if self.parameters.go_to(target):
                self.set_focus(self.parameters)

    @on(Footer.KeyClicked)
    @on(ErrorBlock.HintClicked)
    def _do_clicked(self, event: Footer.KeyClicked | ErrorBlock.HintClicked) -> None:
        self.do(event.id)

    def do(self, id: str) -> None:
        """Run a command by its id, in the pane that it belongs to."""
        target: Widget = self.output if BY_ID[id].where is Where.OUTPUT else self
        target.call_later(self.app.run_action, BY_ID[id].first_action, target)

    def action_stop(self) -> None:
        """Close the search or the drawer, else stop the runs and flows."""
        if self.output.close_find():
            return
        if self.close_drawer():
            self.output.focus_view()
        else:
            flows_of(self.app).stop()

    # --- tokens ------------------------------------------------------------------------------------------

    def _show_mode(self, mode: Mode) -> None:
        self.legend.mode = mode
        self.post_message(self.ModeChanged(mode))

    @on(OutputPane.TokenFocused)
    def _show_token(self) -> None:
        second = self.output.view.second
        self.footer.where = self.where
        self.footer.is_scored_twice = second is not None
        if (selected := self.output.token) is None:
            runs = self._workspace.runs
            self.legend.scale = fitted(runs[-1].request.parameters) if runs else FIXED
            self.inspector.show(None)
            self.strip.show(None)
            return
        run, choice, position = selected
        token = choice.token(position)
        self.legend.scale = fitted(run.request.parameters)
        self.inspector.set_raw(run.raw_logprobs)
        count = None if run.is_running else len(choice)
        has_second = second is not None and second.choice is choice
        self.inspector.show(token, count, choice.echoed, second if has_second else None)
        self.strip.show(token)

    @on(Inspector.AlternativeChosen)
    def _take_row(self, event: Inspector.AlternativeChosen) -> None:
        # Called in the pane: a message posted from this screen would not reach the application.
        self.output.call_later(self.output.action_branch, event.position + 1)


def _sampling(parameters: Parameters) -> Sampling:
    """Return the parameters that reshape a distribution."""
    names = ("temperature", "top_p", "min_p")
    temperature, top_p, min_p = (
        value if isinstance(value := parameters.get(name), int | float) else None for name in names
    )
    top_k = parameters.get("top_k")
    return Sampling(temperature, top_p, top_k if isinstance(top_k, int) else None, min_p)
