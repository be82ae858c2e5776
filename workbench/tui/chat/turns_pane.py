"""The turns of a conversation beside their inspector: walking, folding, reading; and the exact prompt."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import ClassVar

from textual import events, getters, on
from textual.app import ComposeResult
from textual.binding import BindingsMap, BindingType
from textual.containers import Horizontal, ScrollableContainer, Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import var

from workbench.domain.choice import Alternative, Choice
from workbench.domain.conversation import Turn
from workbench.domain.display import one_line, visible
from workbench.domain.errors import WorkbenchError
from workbench.domain.token_levels import Mode
from workbench.runner.chat_request import ChatRequest
from workbench.tui.chat.turn_sections import TurnSections, key_of
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.flows import FlowContext, asks
from workbench.tui.main.inspector import Inspector, TokenStrip
from workbench.tui.popups.picker import Item, Picker
from workbench.tui.popups.question import LinePopup
from workbench.tui.tokens.token_view import NO_TOKEN, TokenView, no_alternative
from workbench.tui.tokens.transcript import TITLE, ReadingPosition, Section
from workbench.tui.tokens.transcript_view import TranscriptView
from workbench.workspace.chat_session import ChatSession

_UNCOUNTED = "tokens not counted: no tokenizer answers yet"


class PromptPreview(Vertical):
    """Shows one prompt."""

    DEFAULT_CSS = """
    PromptPreview { height: 1fr; display: none; border: round $border-blurred; padding: 0 1;
        border-title-color: $text-muted; border-subtitle-color: $text-muted; background: $background; }
    PromptPreview:focus-within { border: round $accent; }
    """
    BORDER_TITLE = "The exact prompt"

    view = getters.query_one(TranscriptView)

    def compose(self) -> ComposeResult:
        yield TranscriptView()

    def show_making(self) -> None:
        """Say that the prompt is being made."""
        self.border_subtitle = Content("rendering…")

    def show_made(self, made: ChatRequest, unfilled: Sequence[str]) -> None:
        """Show a prompt; `unfilled` are the variables in it without a value."""
        rendered = made.rendered
        self.view.set_sections([Section("prompt", "", rendered.prompt, specials=rendered.specials)])
        self.border_subtitle = Content(" · ".join(_remarks(made, unfilled)))

    def show_problem(self, problem: WorkbenchError) -> None:
        """Show that there is no prompt."""
        self.view.set_sections([])
        self.border_subtitle = Content(one_line(problem.title, 70))


def _remarks(made: ChatRequest, unfilled: Sequence[str]) -> Iterator[str]:
    fitted, specials = made.left_out, made.rendered.specials
    about = "" if fitted is None or fitted.is_exact else "about "
    yield f"{about}{fitted.tokens:,} tokens" if fitted is not None else _UNCOUNTED
    if injected := sum(span.injected for span in specials):
        yield f"{injected} special token{'s' * (injected != 1)} in turns' own text"
    if unfilled:
        yield f"no value: {one_line(', '.join(unfilled), 40)}"
    yield from map(visible, made.notes)


_KEYS = {
    **BindingsMap(ScrollableContainer.BINDINGS).key_to_bindings,
    **BindingsMap(bindings_at(Where.TOKENS)).key_to_bindings,
}
"""What keys do where they mean tokens."""
_TAKEN = BindingsMap(bindings_at(Where.TURNS)).key_to_bindings


class TurnView(TokenView, inherit_bindings=False):
    """What is done with a turn is its pane's, which gets the keys that mean turns here, not tokens."""

    BINDINGS: ClassVar[list[BindingType]] = [
        binding for key, bindings in _KEYS.items() if key not in _TAKEN for binding in bindings
    ]

    class TurnClicked(Message):
        """A row of a turn was clicked."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key
            """The key of the section it belongs to."""

    @on(events.Click)
    def _post_turn_clicked(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        row = self._transcript.row(offset.y + self.scroll_offset.y) if offset is not None else None
        if row is not None:
            self.post_message(self.TurnClicked(self._transcript.section(row.section).key))

    def show_section(self, key: str) -> None:
        """Bring the top of a section into view; nothing where it is not shown."""
        if all(section.key != key for section in self.sections):
            return
        y = self._transcript.y_of(ReadingPosition(self._transcript.index_of(key), TITLE, 0))
        top, height = self.scroll_offset.y, self.scrollable_content_region.height
        if not top <= y < top + max(height - 1, 1):
            self._scroll_y_to(min(y, self.max_scroll_y))
            self.is_following = self.scroll_offset.y >= self.max_scroll_y


class TurnsPane(Vertical):
    """Knows the turn that keys work on; what changes the conversation is the screen's."""

    DEFAULT_CSS = """
    TurnsPane { height: 1fr; }
    TurnsPane #stage { height: 1fr; }
    TurnsPane #talk { width: 1fr; height: 1fr; }
    TurnsPane TurnView { height: 1fr; padding: 0 1; max-width: 104; background: $background; }
    TurnsPane.-previewing PromptPreview { display: block; }
    TurnsPane Inspector { width: 38; height: 1fr; border: round $border-blurred; background: $background;
        border-title-color: $text-muted; }
    TurnsPane Inspector:focus { border: round $accent; }
    TurnsPane TokenStrip { display: none; }
    .-narrow TurnsPane Inspector { display: none; }
    .-narrow TurnsPane.-inspecting Inspector { display: block; }
    .-narrow TurnsPane TokenStrip { display: block; }
    """
    BINDINGS = bindings_at(Where.TURNS)

    class NotDone(Message):
        """Something cannot be done, or was not found."""

        def __init__(self, why: str) -> None:
            super().__init__()
            self.why = why

    view = getters.query_one(TurnView)
    preview = getters.query_one(PromptPreview)
    inspector = getters.query_one(Inspector)
    strip = getters.query_one(TokenStrip)
    is_previewing = var(False, toggle_class="-previewing")
    """Whether the exact prompt is shown below the turns."""

    def __init__(self, chat: ChatSession, mode: Mode) -> None:
        super().__init__()
        self._chat = chat
        self._mode = mode
        self._sections = TurnSections(chat)
        self._folded: set[str] = set()
        self.left_out: Collection[int] = frozenset()
        """The indices of turns that the next prompt goes without."""
        self.current: int | None = None
        """The index of the turn that keys work on; None is the last one."""

    def compose(self) -> ComposeResult:
        with Horizontal(id="stage"):
            with Vertical(id="talk"):
                yield TurnView()
                yield PromptPreview()
            yield Inspector()
        yield TokenStrip()

    def on_mount(self) -> None:
        """Show the turns."""
        self.view.mode = self._mode
        self.inspector.border_title = Content("Inspector")
        self.inspector.show(None)
        self.show_turns()

    # --- walking -----------------------------------------------------------------------------------------

    @property
    def turn(self) -> Turn | None:
        """The turn that keys work on."""
        path = self._chat.path
        return path[-1 if self.current is None else self.current] if path else None

    def show_turns(self) -> None:
        """Show the turns as they are now."""
        if self.current is not None and self.current >= len(self._chat.path):
            self.current = None
        self.view.set_sections(self._sections.of(self.current, self._folded, self.left_out))
        if self.view.cursor is None:
            self.inspector.show(None)
            self.strip.show(None)

    def go_to(self, index: int) -> None:
        """Let keys work on a turn, and show it."""
        path = self._chat.path
        if path:
            self._mark(max(min(index, len(path) - 1), 0))
            self.view.show_section(key_of(path[self.current or 0]))

    def _mark(self, index: int | None) -> None:
        """Show which turn keys work on; no other turn of thousands is looked at for it."""
        before, self.current = self.current, index
        if before == index:
            return
        for changed, is_current in ((before, False), (index, True)):
            if changed is not None and changed < len(self._chat.path):
                for section in self._sections.marked(self._chat.path[changed], is_current=is_current):
                    self.view.update_section(section)

    def action_turn(self, step: int) -> None:
        """Go to the next or previous turn."""
        last = len(self._chat.path) - 1
        self.go_to(last if self.current is None and step < 0 else (self.current or 0) + step)

    @on(TokenView.CursorMoved)
    @on(TurnView.TurnClicked)
    def _go_with_cursor(self, event: TokenView.CursorMoved | TurnView.TurnClicked) -> None:
        turn = self._turn_at(event.key)
        self._mark(self._chat.path.index(turn) if turn is not None else None)

    def _turn_at(self, key: str) -> Turn | None:
        """The turn that a section is of."""
        id = key.partition(":")[0]
        return next((turn for turn in self._chat.path if turn.id == id), None)

    @asks
    async def jump(self, flow: FlowContext) -> None:
        """Choose a turn by its number or its words."""
        items = [
            Item(str(index), f"{index + 1} {turn.role}", one_line(turn.text, 100))
            for index, turn in enumerate(self._chat.path)
        ]
        here = len(items) - 1 if self.current is None else self.current
        chosen = await flow.ask(Picker("Turns", items, chosen=str(here)))
        if chosen is not None:
            self.view.focus()
            self.go_to(int(chosen))

    def action_fold(self) -> None:
        """Fold the turn, or unfold it."""
        if (turn := self.turn) is not None:
            self._folded ^= {turn.id}
            self.show_turns()

    def action_fold_all(self) -> None:
        """Fold all turns, or unfold all where all are folded."""
        ids = {turn.id for turn in self._chat.path}
        self._folded = set() if ids <= self._folded else ids
        self.show_turns()
        self.go_to(len(self._chat.path) - 1 if self.current is None else self.current)

    # --- reading -----------------------------------------------------------------------------------------

    def action_inspect(self) -> None:
        """Go to the inspector."""
        if self.view.cursor is None:
            self.view.action_token(1)
        self.add_class("-inspecting")
        self.inspector.focus()

    @on(TokenView.CursorMoved)
    def _show_token(self, event: TokenView.CursorMoved) -> None:
        choice = self._choice_at(event.key)
        if choice is not None and event.position < len(choice):
            token, turn = choice.token(event.position), self._turn_at(event.key)
            run = self._chat.run_of(turn) if turn is not None else None
            self.inspector.set_raw(run.raw_logprobs if run is not None else None)
            self.inspector.show(token, len(choice))
            self.strip.show(token)

    def _choice_at(self, key: str) -> Choice | None:
        section = next((section for section in self.view.sections if section.key == key), None)
        return section.choice if section is not None else None

    def alternative(self, index: int) -> tuple[Turn, Choice, int, Alternative] | None:
        """An alternative to the token under the cursor, from 0, with the turn, choice and position of that.

        None where there is none, which is said.
        """
        if self.view.cursor is None:
            self.notify(NO_TOKEN, timeout=3)
            return None
        key, position = self.view.cursor
        turn, choice = self._turn_at(key), self._choice_at(key)
        if turn is None or choice is None:
            return None
        if int(key.partition(":")[2]) < len(self._chat.runs_of(turn)) - 1:
            why = "This part was generated before the answer was continued: show that branch with < first."
            self.post_message(self.NotDone(why))
            return None
        alternatives = choice.token(position).alternatives
        if index < len(alternatives):
            return turn, choice, position, alternatives[index]
        self.notify(no_alternative(index + 1, len(alternatives)), timeout=3)
        return None

    def action_cycle_colour(self) -> None:
        """Let the colours tell the next thing."""
        self.view.mode = self.view.mode.next()

    def action_toggle_whitespace(self) -> None:
        """Show blanks, tabs and line ends, or not."""
        self.view.whitespace = not self.view.whitespace

    def action_copy_turn(self) -> None:
        """Copy what is selected, else the turn's exact text."""
        text = self.view.selected_text() or (self.turn.text if self.turn is not None else "")
        if text:
            self.app.copy_to_clipboard(text)

    @asks
    async def action_find(self, flow: FlowContext) -> None:
        """Find a text in the answers; n and N go on to others."""
        text = await flow.ask(LinePopup("Find in the answers", "", may_be_empty=True))
        if text is not None and not await self.view.find(text) and text:
            self.post_message(self.NotDone(f"No answer shown contains {text!r}."))
