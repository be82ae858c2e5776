"""The frame of the main screen: its panes at every width, and the ways between them."""

from __future__ import annotations

from typing import NamedTuple

from textual import events, getters, on
from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical
from textual.content import Content
from textual.geometry import Offset
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Static

from workbench.tui.breakpoints import begin_at_size
from workbench.tui.commands.command import Where
from workbench.tui.commands.keymap import OWN_KEYS, CommandTable
from workbench.tui.commands.table import BY_ID
from workbench.tui.token_styles import TokenStyles
from workbench.tui.widgets.error_block import ErrorBlock
from workbench.tui.widgets.footer import Footer
from workbench.tui.widgets.header import Header
from workbench.tui.widgets.inspector import Inspector
from workbench.tui.widgets.legend import Legend
from workbench.tui.widgets.output_pane import OutputPane
from workbench.tui.widgets.parameter_panel import ParameterPanel
from workbench.tui.widgets.prompt_editor import PromptEditor
from workbench.tui.widgets.token_strip import TokenStrip

LEAST_WIDTH, LEAST_HEIGHT = 60, 16
"""Cells below which the panes give way to a notice."""

_PANES = {
    "prompt": Where.PROMPT,
    "output": Where.OUTPUT,
    "parameters": Where.PARAMETERS,
    "inspector": Where.INSPECTOR,
}


class Place(NamedTuple):
    """Somewhere to go: what it is called, and where its letter is shown."""

    target: str
    offset: Offset


class FrameScreen(Screen[None]):
    """Prompt, output, parameters and inspector, which a class below fills with what is done."""

    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-narrow"),
        (100, "-medium"),
        (160, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (40, "-tall")]  # noqa: RUF012

    prompt = getters.query_one("#prompt", PromptEditor)
    output = getters.query_one("#output", OutputPane)
    parameters = getters.query_one("#parameters", ParameterPanel)
    inspector = getters.query_one("#inspector", Inspector)
    strip = getters.query_one("#strip", TokenStrip)
    side = getters.query_one("#side", Vertical)
    header = getters.query_one(Header)
    footer = getters.query_one(Footer)
    legend = getters.query_one(Legend)

    def __init__(self, styles: TokenStyles, commands: CommandTable = OWN_KEYS) -> None:
        super().__init__()
        self._commands = commands
        self._token_styles = styles

    def compose(self) -> ComposeResult:
        begin_at_size(self, self.app.size)
        yield Header()
        with Horizontal(id="panes"):
            with Container(id="work"):
                yield PromptEditor(id="prompt", classes="pane")
                yield OutputPane(self._token_styles, self._commands, id="output", classes="pane")
            with Vertical(id="side"):
                yield ParameterPanel(id="parameters", classes="pane")
                yield Inspector(id="inspector", classes="pane")
        yield TokenStrip(id="strip")
        yield Legend(self._token_styles, id="legend")
        notice = f"The window is too small: {LEAST_WIDTH}x{LEAST_HEIGHT} is needed. Whatever runs goes on."
        yield Static(Content(notice), id="notice")
        yield Footer(self._commands)

    @property
    def is_current(self) -> bool:
        """Whether anything of it can be seen.

        Textual takes a screen for visible under any other one, and then draws that one anew, whole, with
        every change and every idle moment below it.
        """
        top = self.app.screen
        return super().is_current and (top is self or isinstance(top, ModalScreen))

    def on_resize(self, event: events.Resize) -> None:
        """Say so where there is too little room; whatever runs goes on."""
        self.set_class(event.size.width < LEAST_WIDTH or event.size.height < LEAST_HEIGHT, "-tiny")

    def use_token_styles(self, styles: TokenStyles) -> None:
        """Draw tokens with the styles of another theme."""
        self._token_styles = styles
        if self.is_mounted:
            self.output.use_token_styles(styles)
            self.legend.use_token_styles(styles)

    @on(OutputPane.ModeChanged)
    def _show_mode(self, event: OutputPane.ModeChanged) -> None:
        self.legend.mode = event.mode

    # --- going somewhere ---------------------------------------------------------------------------------

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
        """Show the keys of the pane that has the focus, and close a drawer that lost it."""
        self.footer.where = self.where
        if self.where not in (Where.PARAMETERS, Where.INSPECTOR):
            self.close_drawer()

    def open_drawer(self, pane: str) -> None:
        """Show a side pane, which is a drawer where it is narrow."""
        self.side.set_class(pane == "inspector", "-inspecting")
        self.side.add_class("-open")

    def close_drawer(self) -> bool:
        """Close the drawer; False where it is not open."""
        was_open = self.side.has_class("-open")
        self.side.remove_class("-open", "-inspecting")
        return was_open and self.has_class("-narrow")

    def action_focus_prompt(self) -> None:
        """Go to the prompt."""
        self.set_focus(self.prompt)

    def action_focus_parameters(self) -> None:
        """Go to the parameters, and to the field at fault if there is one."""
        self.open_drawer("parameters")
        if self.output.error.field:
            self.parameters.go_to(self.output.error.field)
        self.set_focus(self.parameters)

    def action_focus_output(self) -> None:
        """Go to the output."""
        self.output.focus_view()

    @on(OutputPane.InspectAsked)
    def _go_to_inspector(self) -> None:
        self.open_drawer("inspector")
        self.set_focus(self.inspector)

    @property
    def places(self) -> list[Place]:
        """Every pane and field that can be jumped to."""
        panes = (self.prompt, self.output, self.parameters, self.inspector)
        places = [Place(one.id or "", one.region.offset) for one in panes if one.region.area]
        fields = self.parameters.rows_in_view
        return [*places, *(Place(name, Offset(max(at.x - 1, 0), at.y)) for name, at in fields)]

    def go_to(self, target: str) -> None:
        """Go to a pane or a field by its name."""
        match target:
            case "output":
                self.output.focus_view()
            case _ if target in _PANES:
                self.set_focus(self.query_one(f"#{target}"))
            case _ if self.parameters.go_to(target):
                self.set_focus(self.parameters)

    @on(Footer.CommandClicked)
    @on(ErrorBlock.CommandClicked)
    def _do_clicked(self, event: Footer.CommandClicked | ErrorBlock.CommandClicked) -> None:
        self.do(event.id)

    def do(self, id: str) -> None:
        """Do a command by its id, in the pane it belongs to."""
        target: Widget = self.output if BY_ID[id].where is Where.OUTPUT else self
        self.call_later(self.app.run_action, BY_ID[id].first_action, target)
