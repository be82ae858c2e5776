"""The frame of the chat screen: turns, exact prompt, inspector and composer, and the ways between them."""

from __future__ import annotations

from textual import events, getters, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from workbench.domain.display import one_line, visible
from workbench.domain.run import Run
from workbench.domain.turns import Turn
from workbench.tui.breakpoints import begin_at_size
from workbench.tui.commands.command import Where
from workbench.tui.editor.exact_text_area import ExactTextArea
from workbench.tui.flows import FlowContext, asks
from workbench.tui.main.inspector import Inspector
from workbench.tui.main.token_strip import TokenStrip
from workbench.tui.popups.asked import AskedScreen
from workbench.tui.popups.key_row import KeyRow
from workbench.tui.popups.picker import Item, Picker
from workbench.tui.run_state import RunState, state_of_newest
from workbench.tui.theme.token_styles import TokenStyles
from workbench.tui.tokens.token_view import TokenView
from workbench.tui.tokens.transcript_view import TranscriptView
from workbench.tui.widgets.turn_view import TurnView
from workbench.workspace.activity import Activity
from workbench.workspace.chat_session import ChatSession

_PLACEHOLDER = "Say something: Ctrl+J or F5 sends it, Ctrl+E shows the exact prompt"
_PREPARING = RunState("◌", "preparing", "$text-accent")


class ChatFrame(AskedScreen[str]):
    """What is where on the chat screen; answers with the exact prompt to continue with as text, or None."""

    DEFAULT_CSS = """
    ChatFrame { layout: vertical; background: $background; }
    ChatFrame #about { height: 1; padding: 0 1; background: $panel; color: $foreground; }
    ChatFrame #stage { height: 1fr; }
    ChatFrame #talk { width: 1fr; height: 1fr; }
    ChatFrame TurnView { height: 1fr; padding: 0 1; max-width: 104; background: $background; }
    ChatFrame #preview { height: 1fr; display: none; border: round $border-blurred; padding: 0 1;
        border-title-color: $text-muted; border-subtitle-color: $text-muted; background: $background; }
    ChatFrame #preview:focus { border: round $accent; }
    ChatFrame.-previewing #preview { display: block; }
    ChatFrame Inspector { width: 38; height: 1fr; border: round $border-blurred; background: $background;
        border-title-color: $text-muted; }
    ChatFrame Inspector:focus { border: round $accent; }
    ChatFrame TokenStrip { display: none; }
    ChatFrame.-narrow Inspector { display: none; }
    ChatFrame.-narrow.-inspecting Inspector { display: block; }
    ChatFrame.-narrow TokenStrip { display: block; }
    ChatFrame #problem { height: auto; max-height: 4; display: none; padding: 0 1; color: $text-error; }
    ChatFrame.-failed #problem { display: block; }
    ChatFrame #composer { height: 5; border: round $border-blurred; border-title-color: $text-muted;
        border-subtitle-color: $text-muted; }
    ChatFrame #composer:focus { border: round $accent; }
    """
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-narrow"),
        (100, "-medium"),
    ]
    where = Where.CHAT

    view = getters.query_one(TurnView)
    preview = getters.query_one("#preview", TranscriptView)
    composer = getters.query_one("#composer", ExactTextArea)
    inspector = getters.query_one(Inspector)
    strip = getters.query_one(TokenStrip)
    keys = getters.query_one(KeyRow)

    def __init__(self, chat: ChatSession, styles: TokenStyles) -> None:
        super().__init__()
        self.chat = chat
        self._token_styles = styles
        self.answering = Activity(chat.workspace.services, self._ended)
        self._gauge = Content("")
        self._preparing = False

    def compose(self) -> ComposeResult:
        begin_at_size(self, self.app.size)
        yield Static(id="about", markup=False)
        with Horizontal(id="stage"):
            with Vertical(id="talk"):
                yield TurnView(token_styles=self._token_styles)
                yield TranscriptView(token_styles=self._token_styles, id="preview")
            yield Inspector()
        yield TokenStrip()
        yield Static(id="problem", markup=False)
        yield ExactTextArea(id="composer", soft_wrap=True, compact=False, placeholder=_PLACEHOLDER)
        yield KeyRow(Where.CHAT)

    def on_mount(self) -> None:
        """Go to the composer."""
        self.preview.border_title = Content("The exact prompt")
        self.inspector.border_title = Content("Inspector")
        self.inspector.show(None)
        self.title_composer()
        self.set_focus(self.composer)
        self.show_about()

    def _ended(self, run: Run) -> None:
        """Told each run that is over."""

    # --- what is told ------------------------------------------------------------------------------------

    def show_about(self) -> None:
        """Say which template, model and endpoint are used, how full the context is, and what goes on."""
        chat = self.chat.chat
        name = chat.template.rpartition("/")[2] or "the endpoint's own"
        model = one_line(self.chat.draft.model, 40) or "default model"
        place = f"{model} @ {one_line(self.chat.endpoint.name, 30)}"
        state = _PREPARING if self._preparing else state_of_newest(self.answering)
        right = Content.assemble(self._gauge, "   ", (str(state), state.colour))
        room = max(self.size.width - 2 - right.cell_length - 1, 0)
        template = one_line(name, 40)
        left = Content.assemble(
            ("Chat", "bold"), ("   template ", "$text-muted"), template, f"   {place}"
        ).truncate(room, ellipsis=True)
        gap = max(self.size.width - 2 - left.cell_length - right.cell_length, 1)
        self.query_one("#about", Static).update(Content.assemble(left, " " * gap, right))

    @property
    def preparing(self) -> bool:
        """Whether a prompt is being made that is to be sent, for which the local model may have to start."""
        return self._preparing

    @preparing.setter
    def preparing(self, preparing: bool) -> None:
        self._preparing = preparing
        if self.is_attached:
            self.show_about()

    def show_gauge(self, words: str, style: str) -> None:
        """Say how full the context is."""
        self._gauge = Content.styled(words, style) if words else Content("")
        self.show_about()

    def tell(self, problem: str) -> None:
        """Say what went wrong, or with an empty text nothing any more."""
        self.set_class(bool(problem), "-failed")
        self.query_one("#problem", Static).update(Content(visible(problem)))

    def title_composer(self, editing: Turn | None = None) -> None:
        """Say what the composer's text will be."""
        where = [turn.id for turn in self.chat.path]
        number = where.index(editing.id) + 1 if editing is not None and editing.id in where else 0
        self.composer.border_title = Content(
            f"Edit turn {number} · Esc leaves it as it was" if number else "Say"
        )
        begin = one_line(repr(self.chat.prefill), 50)
        self.composer.border_subtitle = Content(f"the answer begins {begin}" if self.chat.prefill else "")

    def on_resize(self) -> None:
        """Spread the first row over the new width."""
        self.show_about()

    # --- going somewhere ---------------------------------------------------------------------------------

    @on(events.DescendantFocus)
    def _show_keys(self) -> None:
        self.keys.where = Where.CHAT if self.focused is self.composer else Where.TURNS
        if self.focused is not self.inspector:
            self.remove_class("-inspecting")

    def action_focus_view(self) -> None:
        """Go to the transcript, to look at turns and tokens."""
        self.set_focus(self.view)

    def action_focus_composer(self) -> None:
        """Go to the composer."""
        self.set_focus(self.composer)

    def action_inspect(self) -> None:
        """Go to the inspector."""
        if self.view.cursor is None:
            self.view.action_token(1)
        self.add_class("-inspecting")
        self.set_focus(self.inspector)

    @on(TokenView.CursorMoved)
    def _show_token(self, event: TokenView.CursorMoved) -> None:
        section = next((one for one in self.view.sections if one.key == event.key), None)
        choice = section.choice if section is not None else None
        if choice is not None and event.position < len(choice):
            token = choice.token(event.position)
            turn = next((one for one in self.chat.path if one.id == event.key.partition(":")[0]), None)
            run = self.chat.run_of(turn) if turn is not None else None
            self.inspector.set_raw(run.raw_logprobs if run is not None else None)
            self.inspector.show(token, len(choice))
            self.strip.show(token)

    def action_cycle_colour(self) -> None:
        """Let the colours tell the next thing."""
        self.view.cycle_mode()

    def action_toggle_whitespace(self) -> None:
        """Show blanks, tabs and line ends, or not."""
        self.view.whitespace = not self.view.whitespace

    # --- commands by name --------------------------------------------------------------------------------

    @asks
    async def action_palette(self, flow: FlowContext) -> None:
        """Show every command of this screen with its key; choosing one does it."""
        table = flow.commands
        wheres = Where.CHAT, Where.TURNS
        # What has a key for each digit needs one to be chosen.
        found = {one.id: one for one in table if one.where in wheres and len(one.actions) <= 2}
        items = [Item(one.id, one.title, one.help, one.key_label) for one in found.values()]
        id = await flow.ask(Picker("Chat", items, note="type to filter · Enter does it · Esc"))
        if id is None:
            return
        if found[id].where is Where.TURNS:
            self.set_focus(self.view)
        await self.run_action(found[id].first_action)
