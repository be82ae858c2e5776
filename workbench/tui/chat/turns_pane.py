"""The turns of a conversation with their inspector, and the preview of the exact prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual import events, getters, on
from textual.app import ComposeResult
from textual.binding import BindingsMap, BindingType
from textual.containers import Horizontal, ScrollableContainer, Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import var

from workbench.domain.choice import Alternative, Choice
from workbench.domain.colour_modes import Mode
from workbench.domain.conversation import Turn
from workbench.domain.display import one_line, plural, visible
from workbench.domain.errors import WorkbenchError
from workbench.runner.chat_request import ChatRequest
from workbench.tui.chat.turn_sections import TurnSections, key_of
from workbench.tui.commands.command import Where
from workbench.tui.commands.keymap import commands_of
from workbench.tui.commands.table import bindings_at
from workbench.tui.flows import FlowContext, asks
from workbench.tui.main.inspector import Inspector, TokenStrip
from workbench.tui.popups.question import LinePopup
from workbench.tui.tokens.token_view import NO_TOKEN, TokenView, no_alternative
from workbench.tui.tokens.transcript import TITLE, ReadingPosition, Section
from workbench.tui.tokens.transcript_view import TranscriptView
from workbench.workspace.chat_session import ChatSession


class PromptPreview(Vertical):
    """Shows the exact prompt that would be sent."""

    DEFAULT_CSS = """
    PromptPreview { height: 1fr; display: none; border: round $border-blurred; padding: 0 1;
        border-title-color: $text-muted; border-subtitle-color: $text-muted; background: $background; }
    PromptPreview:focus-within { border: round $accent; }
    """
    BORDER_TITLE = "The exact prompt"

    view = getters.query_one(TranscriptView)

    def compose(self) -> ComposeResult:
        yield TranscriptView()

    def show_made(self, made: ChatRequest, unfilled: Sequence[str]) -> None:
        """Show a prompt; `unfilled` has its variables without a value."""
        rendered = made.rendered
        self.view.set_sections([Section("prompt", "", rendered.prompt, specials=rendered.specials)])
        self.border_subtitle = Content(" · ".join(_remarks(made, unfilled)))

    def show_problem(self, problem: WorkbenchError) -> None:
        """Show why the prompt cannot be rendered."""
        self.view.set_sections([])
        self.border_subtitle = Content(one_line(problem.title, 70))


def _remarks(made: ChatRequest, unfilled: Sequence[str]) -> Iterator[str]:
    if (fitted := made.left_out) is None:
        yield "tokens not counted: no tokenizer answers yet"
    else:
        yield f"{'' if fitted.is_exact else 'about '}{plural(fitted.tokens, 'token')}"
    if injected := sum(span.injected for span in made.rendered.specials):
        yield f"{plural(injected, 'special token')} in turns' own text"
    if unfilled:
        yield f"no value: {one_line(', '.join(unfilled), 40)}"
    yield from map(visible, made.notes)


_KEYS = {
    **BindingsMap(ScrollableContainer.BINDINGS).key_to_bindings,
    **BindingsMap(bindings_at(Where.TOKENS)).key_to_bindings,
}
"""The bindings of token views."""
_TAKEN = BindingsMap(bindings_at(Where.TURNS)).key_to_bindings


class TurnView(TokenView, inherit_bindings=False):
    """A token view without the keys that its pane uses for turns."""

    BINDINGS: ClassVar[list[BindingType]] = [
        binding for key, bindings in _KEYS.items() if key not in _TAKEN for binding in bindings
    ]

    class TurnClicked(Message):
        """A row of a turn was clicked."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key
            """The key of the section."""

    @on(events.Click)
    def _post_turn_clicked(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        row = self._transcript.row(offset.y + self.scroll_offset.y) if offset is not None else None
        if row is not None:
            self.post_message(self.TurnClicked(self._transcript.section(row.section).key))

    def show_section(self, key: str) -> None:
        """Scroll the top of a section into view; does nothing if there is no such section."""
        if all(section.key != key for section in self.sections):
            return
        y = self._transcript.y_of(ReadingPosition(self._transcript.index_of(key), TITLE, 0))
        top, height = self.scroll_offset.y, self.scrollable_content_region.height
        if not top <= y < top + max(height - 1, 1):
            self._scroll_y_to(min(y, self.max_scroll_y))
            self.is_following = self.scroll_offset.y >= self.max_scroll_y


class TurnsPane(Vertical):
    """Shows the turns and keeps track of the current one; the screen changes the conversation."""

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
    """
    BINDINGS = bindings_at(Where.TURNS)

    class NotDone(Message):
        """Something was not found or is not possible."""

        def __init__(self, why: str) -> None:
            super().__init__()
            self.why = why
            """What to show."""

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
        self.left_out = range(0)
        """The indices of turns that the next prompt leaves out."""
        self.current: int | None = None
        """The index of the turn that keys apply to; None for the last one."""

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

    # --- the current turn --------------------------------------------------------------------------------

    @property
    def turn(self) -> Turn | None:
        """The turn that keys apply to."""
        path = self._chat.path
        return path[-1 if self.current is None else self.current] if path else None

    def show_turns(self) -> None:
        """Show the turns of the conversation."""
        if self.current is not None and self.current >= len(self._chat.path):
            self.current = None
        self.view.set_sections(self._sections.of(self.current, self._folded, self.left_out))
        if self.view.cursor is None:
            self.inspector.show(None)
            self.strip.show(None)

    def go_to(self, index: int) -> None:
        """Make a turn the current one, and scroll to it."""
        path = self._chat.path
        if path:
            self._mark(max(min(index, len(path) - 1), 0))
            self.view.show_section(key_of(path[self.current or 0]))

    def _mark(self, index: int | None) -> None:
        """Make a turn the current one, and redraw only it and the one before it."""
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
        """Return the turn of a section."""
        id = key.partition(":")[0]
        return next((turn for turn in self._chat.path if turn.id == id), None)

    def action_fold(self) -> None:
        """Fold or unfold the turn."""
        if (turn := self.turn) is not None:
            self._folded ^= {turn.id}
            self.show_turns()

    def action_fold_all(self) -> None:
        """Fold all turns, or unfold them if all are folded."""
        ids = {turn.id for turn in self._chat.path}
        self._folded = set() if ids <= self._folded else ids
        self.show_turns()
        self.go_to(len(self._chat.path) - 1 if self.current is None else self.current)

    # --- tokens ------------------------------------------------------------------------------------------

    def action_inspect(self) -> None:
        """Focus the inspector."""
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
        """Return an alternative (from 0) to the token under the cursor, with its turn, choice and position.

        If there is none, show why and return None.
        """
        if self.view.cursor is None:
            self.notify(NO_TOKEN, timeout=3)
            return None
        key, position = self.view.cursor
        turn, choice = self._turn_at(key), self._choice_at(key)
        if turn is None or choice is None:
            return None
        if int(key.partition(":")[2]) < len(self._chat.runs_of(turn)) - 1:
            keys = commands_of(self.app)["other_branch"].key_label
            why = f"This part is older than the answer's continuation: show that branch with {keys} first."
            self.post_message(self.NotDone(why))
            return None
        alternatives = choice.token(position).alternatives
        if index < len(alternatives):
            return turn, choice, position, alternatives[index]
        self.notify(no_alternative(index + 1, len(alternatives)), timeout=3)
        return None

    def action_cycle_colour(self) -> None:
        """Colour by the next measure."""
        self.view.mode = self.view.mode.next()

    def action_toggle_whitespace(self) -> None:
        """Show or hide spaces, tabs and line ends."""
        self.view.whitespace = not self.view.whitespace

    def action_copy_turn(self) -> None:
        """Copy the selection, else the turn's exact text."""
        text = self.turn.text if self.turn is not None else ""
        self.app.copy_to_clipboard(self.view.selected_text() or text)

    @asks
    async def action_find(self, flow: FlowContext) -> None:
        """Ask for a text and go to its next match in the answers."""
        text = await flow.ask(LinePopup("Find in the answers", "", may_be_empty=True))
        if text is not None and not await self.view.find(text) and text:
            self.post_message(self.NotDone(f"No answer shown contains {text!r}."))
