"""The main screen: prompt, output, parameters and inspector, and the keys that work anywhere."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual import events, getters, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.parameters import FIRST_DRAFT
from workbench.domain.prompt import Prompt, TextPrompt
from workbench.domain.request import Parameters, Request
from workbench.domain.run import Failure, Outcome, Parent, Run
from workbench.runner.branching import branch_at, continue_after
from workbench.tui.commands import BY_ID, Where, bindings_for, commands_at
from workbench.tui.run_controller import RunController
from workbench.tui.screens.choosing import choose_endpoint, choose_kind, choose_model, choose_theme
from workbench.tui.screens.help import can_be_done, help_screen, palette_screen
from workbench.tui.screens.jump import Jump, Place
from workbench.tui.screens.question import Question
from workbench.tui.services import Services
from workbench.tui.token_styles import TokenStyles
from workbench.tui.widgets._pending import Inspector, ParameterPanel, PromptEditor, TokenStrip
from workbench.tui.widgets.error_block import ErrorBlock
from workbench.tui.widgets.footer import Footer
from workbench.tui.widgets.header import Header
from workbench.tui.widgets.legend import Legend
from workbench.tui.widgets.output_pane import OutputPane

FRAMES_A_SECOND = 30
"""How often the panes look for new tokens while something streams."""

EXAMPLE = "The lighthouse keeper opened the door and"
"""The prompt of the very first draft."""


class MainScreen(Screen[None]):
    """Composes the panes and passes between them; what a run does is the controller's."""

    CSS_PATH = "layout.tcss"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-narrow"),
        (100, "-medium"),
        (160, "-wide"),
    ]
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_for(commands_at(Where.ANYWHERE))]

    @dataclass
    class ThemeChosen(Message):
        """A theme was chosen, to be remembered."""

        name: str

    prompt = getters.query_one("#prompt", PromptEditor)
    output = getters.query_one("#output", OutputPane)
    parameters = getters.query_one("#parameters", ParameterPanel)
    inspector = getters.query_one("#inspector", Inspector)
    strip = getters.query_one("#strip", TokenStrip)
    header = getters.query_one(Header)
    footer = getters.query_one(Footer)
    legend = getters.query_one(Legend)

    def __init__(self, services: Services, styles: TokenStyles) -> None:
        super().__init__()
        self._token_styles = styles
        self.services = services
        self.endpoint = services.endpoint
        self.model = services.model
        self._runs = RunController(services, self._run_ended)
        self._frames: Timer | None = None
        self._undo: list[Prompt] = []

    def compose(self) -> ComposeResult:
        yield Header()
        with Horizontal(id="panes"):
            with Container(id="work"):
                yield PromptEditor(id="prompt", classes="pane")
                yield OutputPane(self._token_styles, id="output", classes="pane")
            with Vertical(id="side"):
                yield ParameterPanel(id="parameters", classes="pane")
                yield Inspector(id="inspector", classes="pane")
        yield TokenStrip(id="strip")
        yield Legend(self._token_styles, id="legend")
        yield Static("The window is too small: 60 columns and 16 rows are needed.", id="notice", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Show the first draft, ready to run."""
        self._frames = self.set_interval(1 / FRAMES_A_SECOND, self._frame, pause=True)
        self.prompt.set_prompt(TextPrompt(EXAMPLE))
        self.parameters.set_parameters(Parameters(FIRST_DRAFT))
        self.use_endpoint(self.endpoint)
        self.prompt.focus()
        for problem in self.services.problems:
            self.notify(str(problem), title="Configuration", severity="warning", markup=False, timeout=10)

    def on_resize(self, event: events.Resize) -> None:
        """Say so where there is too little room; whatever runs goes on."""
        self.set_class(event.size.width < 60 or event.size.height < 16, "-tiny")

    @property
    def is_streaming(self) -> bool:
        """Whether something streams."""
        return self._runs.is_running

    async def aclose(self) -> None:
        """Stop what streams and wait until it has ended."""
        await self._runs.aclose()

    # --- sending -----------------------------------------------------------------------------------------

    def action_run(self) -> None:
        """Send the draft."""
        self._try(self._run_draft)

    def action_run_again(self) -> None:
        """Send the draft with a fresh seed; the pinned one stays in the panel."""
        self._try(lambda: self._run_draft(seed=random.getrandbits(31)))

    def action_stop(self) -> None:
        """Close the drawer if it is open, else stop what streams."""
        side = self.query_one("#side")
        if side.has_class("-open"):
            side.remove_class("-open")
            self.output.focus_view()
        elif self._runs.stop():
            self._frame()

    def _run_draft(self, seed: int | None = None) -> None:
        parameters = self.parameters.parameters
        if seed is not None:
            parameters = parameters.set("seed", seed)
        self._ask_and_send(Request(self.prompt.prompt, self.model or self.endpoint.model, parameters), None)

    def _branch(self, prompt: Prompt, parent: Parent) -> None:
        request = Request(prompt, self.model or self.endpoint.model, self.parameters.parameters)
        self._ask_and_send(request, parent)

    def _ask_and_send(self, request: Request, parent: Parent | None) -> None:
        if not self.endpoint.lenient:
            for problem in request.parameters.problems(self.endpoint.limits):
                raise problem
        limit = self.services.config.confirm_above
        if not limit or request.billed_tokens <= limit:
            self._send(request, parent)
            return

        def answered(yes: bool | None) -> None:
            if yes:
                self._send(request, parent)

        cost = f"This may generate and bill up to {request.billed_tokens:,} tokens."
        self.app.push_screen(Question(cost, "send", "do not send"), answered)

    def _send(self, request: Request, parent: Parent | None) -> None:
        run = Run(request, self.endpoint.name, parent=parent)
        self._runs.stop()
        self.output.begin(run)
        self._runs.start(run, self.endpoint)
        self.footer.running = True
        if self._frames is not None:
            self._frames.resume()
        self._frame()

    def _try(self, send: Callable[[], None]) -> None:
        try:
            send()
        except BadValueError as problem:
            failure = Failure(problem.title, problem.message, problem.hint)
            self.output.fail(failure, "nothing was sent", problem.field)

    def _frame(self) -> None:
        self.output.pull()
        self.header.state = self._runs.state

    def _run_ended(self, run: Run) -> None:
        self.output.end(run)
        if run is not self._runs.run:
            return
        if self._frames is not None:
            self._frames.pause()
        self._frame()
        self.footer.running = False
        self.legend.note = " · ".join(run.notes)
        self.header.model = self.model or run.model or self.endpoint.model
        if run.outcome is Outcome.ERROR and run.error is not None:
            place = self._runs.endpoint
            self.output.fail(run.error, f"at {run.endpoint} {place.base_url if place else ''}".rstrip())

    # --- the output's keys -------------------------------------------------------------------------------

    @on(OutputPane.TokenFocused)
    def _show_token(self, event: OutputPane.TokenFocused) -> None:
        self.inspector.show(event.token)
        self.strip.show(event.token)

    @on(OutputPane.AlternativeTaken)
    def _take_alternative(self, event: OutputPane.AlternativeTaken) -> None:
        def send() -> None:
            branch = branch_at(event.run, event.choice, event.position, event.alternative)
            self._branch(*branch)

        self._try(send)

    @on(Inspector.AlternativeChosen)
    def _take_row(self, event: Inspector.AlternativeChosen) -> None:
        self.output.take_alternative(event.position)

    @on(OutputPane.Continued)
    def _continue(self, event: OutputPane.Continued) -> None:
        def send() -> None:
            branch = continue_after(event.run, event.choice)
            self._undo.append(self.prompt.prompt)
            self.prompt.set_prompt(branch.prompt)
            self._branch(*branch)

        self._try(send)

    @on(OutputPane.UndoAsked)
    def _undo_continue(self) -> None:
        if self._undo:
            self.prompt.set_prompt(self._undo.pop())

    # --- going somewhere ---------------------------------------------------------------------------------

    def action_focus_prompt(self) -> None:
        """Go to the prompt."""
        self.prompt.focus()

    def action_focus_parameters(self) -> None:
        """Go to the parameters, and to the field at fault if there is one."""
        self.query_one("#side").add_class("-open")
        self.parameters.focus()

    def action_focus_output(self) -> None:
        """Go to the output."""
        self.output.focus_view()

    @on(OutputPane.InspectAsked)
    def _go_to_inspector(self) -> None:
        if self.has_class("-narrow"):
            self.query_one("#side").add_class("-open", "-inspecting")
        self.inspector.focus()

    def action_jump(self) -> None:
        """Show a letter on every pane and go where the one typed says."""
        places = [
            Place(widget.id or "", widget.region.offset)
            for widget in (self.prompt, self.output, self.parameters, self.inspector)
            if widget.region.area
        ]
        self.app.push_screen(Jump(places), self._jump)

    def _jump(self, target: str | None) -> None:
        match target:
            case "output":
                self.output.focus_view()
            case str():
                self.query_one(f"#{target}").focus()

    def use_token_styles(self, styles: TokenStyles) -> None:
        """Draw tokens with the styles of another theme."""
        self._token_styles = styles
        if self.is_mounted:
            self.output.use_token_styles(styles)
            self.legend.use_token_styles(styles)

    @on(OutputPane.ModeChanged)
    def _show_mode(self, event: OutputPane.ModeChanged) -> None:
        self.legend.mode = event.mode

    # --- popups ------------------------------------------------------------------------------------------

    @property
    def where(self) -> Where:
        """The pane that has the focus."""
        focused = self.focused
        while focused is not None:
            if focused.id in _PANES:
                return _PANES[focused.id]
            focused = focused.parent if isinstance(focused.parent, Widget) else None
        return Where.ANYWHERE

    def on_descendant_focus(self) -> None:
        """Show the keys of the pane that has the focus."""
        self.footer.where = self.where

    def action_help(self) -> None:
        """Show the focused pane's keys."""
        self.app.push_screen(help_screen(self.where), self._do)

    def action_palette(self) -> None:
        """Show every command."""
        self.app.push_screen(palette_screen(), self._do)

    def _do(self, id: str | None) -> None:
        if id is not None and can_be_done(id):
            self.do(id)

    @on(Footer.CommandClicked)
    @on(ErrorBlock.CommandClicked)
    def _do_clicked(self, event: Footer.CommandClicked | ErrorBlock.CommandClicked) -> None:
        self.do(event.id)

    def do(self, id: str) -> None:
        """Do a command by its id, in the pane it belongs to."""
        target: Widget = self.output if BY_ID[id].where is Where.OUTPUT else self
        owner = self.app if id in ("quit", "copy_or_stop") else target
        self.call_later(self.app.run_action, id, owner)

    def action_choose_endpoint(self) -> None:
        """Choose where requests are sent."""
        choose_endpoint(self.app, self.services, self.endpoint, self.use_endpoint)

    def action_choose_model(self) -> None:
        """Choose the model."""
        choose_model(self.app, self.services, self.endpoint, self.model, self.use_model)

    def action_choose_theme(self) -> None:
        """Choose a theme."""
        choose_theme(self.app, lambda name: self.post_message(self.ThemeChosen(name)))

    def action_choose_kind(self) -> None:
        """Choose what the prompt is made of."""
        choose_kind(self.app, self.prompt.kind, self.prompt.set_kind)

    def use_endpoint(self, endpoint: Endpoint) -> None:
        """Send to another endpoint from now on, and ask for its own model."""
        if endpoint.name != self.endpoint.name:
            self.model = ""
        self.endpoint = endpoint
        self.header.endpoint = endpoint.name
        self.header.model = self.model or endpoint.model

    def use_model(self, model: str) -> None:
        """Ask for another model from now on."""
        self.model = model
        self.header.model = model

    def copy_or_stop(self, top: Screen[object]) -> None:
        """Copy what is selected on the screen on top, else stop the stream."""
        focused = top.focused
        text = top.get_selected_text() or (
            focused.selected_text if isinstance(focused, Input | TextArea) else ""
        )
        if text:
            self.app.copy_to_clipboard(text)
            self.notify(f"Copied {len(text)} characters.", markup=False, timeout=2)
        else:
            self._runs.stop()


_PANES = {
    "prompt": Where.PROMPT,
    "output": Where.OUTPUT,
    "parameters": Where.PARAMETERS,
    "inspector": Where.INSPECTOR,
}
