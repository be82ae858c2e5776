"""The chat screen: turns one after another over plain completions, with the exact prompt one key away."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import getters, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Static, TextArea

from workbench.chat.rendered import Rendered
from workbench.chat.templates import BUILTIN_TEMPLATES
from workbench.domain.display import one_line, visible
from workbench.domain.errors import WorkbenchError
from workbench.domain.run import Outcome, Run
from workbench.tui.chat_session import ChatSession, Exchange
from workbench.tui.commands import Where
from workbench.tui.run_controller import RunController
from workbench.tui.run_state import figures_of
from workbench.tui.screens.help import help_screen
from workbench.tui.screens.popup import Item, Picker
from workbench.tui.token_styles import TokenStyles
from workbench.tui.transcript import Section
from workbench.tui.widgets.exact_text_area import ExactTextArea
from workbench.tui.widgets.key_row import KeyRow
from workbench.tui.widgets.token_view import TokenView

_FRAMES_A_SECOND = 30
_OWN_TEMPLATE = "\0own"
"""Stands for the endpoint's own template among names, none of which can hold this character."""


class ChatScreen(Screen[None]):
    """A conversation; every answer is a run of the session, with its colours and figures."""

    DEFAULT_CSS = """
    ChatScreen { layout: vertical; background: $background; }
    ChatScreen #about { height: 1; padding: 0 1; background: $panel; color: $foreground; }
    ChatScreen TokenView { height: 1fr; padding: 0 1; background: $background; }
    ChatScreen #preview { height: 1fr; display: none; border: round $accent; padding: 0 1; }
    ChatScreen.-previewing #preview { display: block; }
    ChatScreen #problem { height: auto; display: none; padding: 0 1; color: $text-error; }
    ChatScreen.-failed #problem { display: block; }
    ChatScreen #composer { height: 5; border: round $border-blurred; }
    ChatScreen #composer:focus { border: round $accent; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+j,f5", "say", "Send", show=False, priority=True),
        Binding("ctrl+e", "preview", "Prompt", show=False, priority=True),
        Binding("ctrl+t", "template", "Template", show=False, priority=True),
        Binding("ctrl+b", "take_back", "Take back", show=False, priority=True),
        Binding("f4", "focus_view", "Transcript", show=False, priority=True),
        Binding("f2", "focus_composer", "Composer", show=False, priority=True),
        Binding("f1", "help", "Help", show=False, priority=True),
        Binding("escape", "stop", "Stop", show=False),
        Binding("ctrl+c", "app.copy_or_stop", "Copy or stop", show=False, priority=True),
        Binding("ctrl+q", "app.quit", "Quit", show=False, priority=True),
    ]

    view = getters.query_one(TokenView)
    composer = getters.query_one("#composer", ExactTextArea)

    def __init__(
        self,
        chat: ChatSession,
        styles: TokenStyles,
        on_begin: Callable[[Run], None],
        on_end: Callable[[Run], None],
        on_turns: Callable[[], object],
    ) -> None:
        """`on_begin` is told each run before it is sent, `on_end` when it has ended, however it did.

        `on_turns` is told whenever the conversation has changed.
        """
        super().__init__()
        self.chat = chat
        self._styles = styles
        self._on_begin = on_begin
        self._on_end = on_end
        self._on_turns = on_turns
        self._runs = RunController(chat.services, self._ended)
        self._frames: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="about")
        yield TokenView(token_styles=self._styles)
        with VerticalScroll(id="preview", can_focus=False):
            yield Static(id="prompt_preview")
        yield Static(id="problem")
        yield ExactTextArea(id="composer", soft_wrap=True, compact=False)
        yield KeyRow(Where.CHAT)

    def on_mount(self) -> None:
        """Show the conversation so far."""
        self._show_turns()
        self.composer.border_title = Content("Say")
        self.query_one("#preview").border_title = Content("The exact prompt")
        self.composer.focus()
        self._frames = self.set_interval(1 / _FRAMES_A_SECOND, self._frame, pause=True)
        self._show_about()

    async def on_unmount(self) -> None:
        """Stop what streams, and end the process that renders."""
        await self._runs.aclose()
        await self.chat.aclose()

    # --- frames ------------------------------------------------------------------------------------------

    def _frame(self) -> None:
        self.view.pull()
        self._show_about()

    def on_resize(self) -> None:
        """Spread the first row over the new width."""
        self._show_about()

    def _show_about(self) -> None:
        name = self.chat.template or "the endpoint's own template"
        model = one_line(self.chat.draft.model, 40) or "default model"
        left = Content.assemble(
            ("Chat", "bold"),
            f"  {one_line(name, 40)}   {model} @ {one_line(self.chat.endpoint.name, 40)}",
        )
        state = str(self._runs.state)
        gap = self.size.width - 2 - left.cell_length - len(state)
        self.query_one("#about", Static).update(
            Content.assemble(left, " " * max(gap, 1), (state, "$text-accent"))
        )

    def _show_turns(self) -> None:
        self.view.set_sections(
            section
            for number, exchange in enumerate(self.chat.exchanges, 1)
            for section in self._sections(number, exchange)
        )

    @staticmethod
    def _sections(number: int, exchange: Exchange) -> list[Section]:
        run = exchange.run
        figures = "" if run.is_running else figures_of(run)
        if run.outcome is Outcome.ERROR and run.error is not None:
            figures = visible(f"✗ {run.error.title} {run.error.message}".strip())
        choice = run.choice(0)
        return [
            Section(f"said:{run.id}", f"── {number} · user", exchange.said),
            Section(f"answered:{run.id}", "   assistant", "", choice, figures),
        ]

    def _tell(self, problem: str) -> None:
        self.set_class(bool(problem), "-failed")
        self.query_one("#problem", Static).update(Content(visible(problem)))

    # --- what can be done --------------------------------------------------------------------------------

    def action_say(self) -> None:
        """Send what the composer holds."""
        if self._runs.is_running:
            self._tell("An answer streams already: stop it with Esc, or wait for its end.")
        elif self.composer.text.strip():
            self._say(self.composer.text)

    @work(exclusive=True, group="say")
    async def _say(self, said: str) -> None:
        try:
            exchange = await self.chat.begin(said, self._on_begin)
        except WorkbenchError as problem:
            self._tell(f"Nothing was sent. {problem}")
            return
        self._tell("")
        self.composer.text = ""
        self._runs.start(exchange.run, self.chat.endpoint)
        self._show_turns()
        if self._frames is not None:
            self._frames.resume()

    def _ended(self, run: Run) -> None:
        self._on_end(run)
        self._on_turns()
        if self._frames is not None:
            self._frames.pause()
        if self.is_attached:
            self._show_turns()
            self._frame()

    def action_stop(self) -> None:
        """Stop the answer, then close the preview, then leave; what came is kept."""
        if self._runs.stop():
            return
        if self.has_class("-previewing"):
            self.remove_class("-previewing")
        else:
            self.dismiss(None)

    def action_take_back(self) -> None:
        """Put the last thing said back into the composer; its run stays in the session."""
        if self._runs.is_running or not self.chat.exchanges:
            return
        said = self.chat.take_back()
        if not self.composer.text:
            self.composer.text = said
        self._on_turns()
        self._show_turns()

    def action_template(self) -> None:
        """Choose the template for the next turns."""
        items = [Item(_OWN_TEMPLATE, "the endpoint's own", "as it tells of itself")]
        items += [Item(name, name, "") for name in BUILTIN_TEMPLATES]

        def take(name: str | None) -> None:
            if name is not None:
                self.chat.use_template("" if name == _OWN_TEMPLATE else name)
                self._show_about()
                self._preview_again()

        self.app.push_screen(Picker("Template", items), take)

    def action_preview(self) -> None:
        """Show the exact prompt that the composer's text would make, or hide it."""
        self.toggle_class("-previewing")
        self._preview_again()

    @on(TextArea.Changed, "#composer")
    def _preview_again(self) -> None:
        if self.has_class("-previewing"):
            self._preview()

    @work(exclusive=True, group="preview")
    async def _preview(self) -> None:
        try:
            rendered = await self.chat.render(self.composer.text)
        except WorkbenchError as problem:
            self._tell(str(problem))
            return
        self._tell("")
        self.query_one("#prompt_preview", Static).update(shown_prompt(rendered))

    def action_focus_view(self) -> None:
        """Go to the transcript, to look at tokens."""
        self.set_focus(self.view)

    def action_focus_composer(self) -> None:
        """Go to the composer."""
        self.set_focus(self.composer)

    def action_help(self) -> None:
        """Show this screen's keys."""
        self.app.push_screen(help_screen(Where.CHAT))


def shown_prompt(rendered: Rendered) -> Content:
    """A rendered prompt with its special tokens marked; one that a turn's own text holds stands out."""
    parts: list[Content | tuple[str, str]] = []
    at = 0
    for span in rendered.specials:
        parts.append(Content(visible(rendered.prompt[at : span.start])))
        style = "bold $text-error underline" if span.injected else "bold $text-accent"
        parts.append((visible(rendered.prompt[span.start : span.end]), style))
        at = span.end
    parts.append(Content(visible(rendered.prompt[at:])))
    return Content.assemble(*parts)
