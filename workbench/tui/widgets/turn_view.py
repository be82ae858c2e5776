"""The transcript of a conversation: tokens as everywhere, and keys for whole turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events, on
from textual.binding import Binding, BindingType
from textual.message import Message

from workbench.tui.transcript import TITLE, Place
from workbench.tui.widgets.token_view import TokenView


class TurnView(TokenView):
    """What is done with a turn is the screen's."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "screen.turn(1)", "Next turn", show=False),
        Binding("k", "screen.turn(-1)", "Previous turn", show=False),
        Binding("less_than_sign", "screen.other_branch(-1)", "Previous branch", show=False),
        Binding("greater_than_sign", "screen.other_branch(1)", "Next branch", show=False),
        Binding("space", "screen.fold", "Fold", show=False),
        Binding("f", "screen.fold_all", "Fold all", show=False),
        Binding("e", "screen.edit_turn", "Edit", show=False),
        Binding("r", "screen.answer_again", "Answer again", show=False),
        Binding("enter", "screen.go_on", "Go on", show=False),
        Binding("d", "screen.delete_turn", "Delete", show=False),
        Binding("u", "screen.undo", "Undo", show=False),
        Binding("U", "screen.redo", "Redo", show=False),
        Binding("y", "screen.copy_turn", "Copy", show=False),
        Binding("p", "screen.replay", "Replay", show=False),
        Binding("R", "screen.rerun", "Re-run", show=False),
        Binding("f8", "screen.compare_answers", "Compare", show=False),
        Binding("i,tab", "screen.inspect", "Inspect", show=False),
        Binding("slash", "screen.find", "Find", show=False),
        Binding("c", "screen.cycle_colour", "Colour", show=False),
        Binding("w", "screen.toggle_whitespace", "Whitespace", show=False),
        *(
            Binding(str(digit), f"screen.branch_with({digit})", "Branch", show=False)
            for digit in range(1, 10)
        ),
    ]

    @dataclass
    class TurnClicked(Message):
        """A row of a turn was clicked."""

        key: str
        """The key of the section it belongs to."""

    @on(events.Click)
    def _tell_turn(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        row = self._transcript.row(offset.y + self.scroll_offset.y) if offset is not None else None
        if row is not None:
            self.post_message(self.TurnClicked(self._transcript.section(row.section).key))

    def show_section(self, key: str) -> None:
        """Bring the top of a section into view; nothing where it is not shown."""
        index = self._transcript.index_of(key)
        if index is None:
            return
        y = self._transcript.y_of(Place(index, TITLE, 0))
        top, height = self.scroll_offset.y, self.scrollable_content_region.height
        if not top <= y < top + max(height - 1, 1):
            self._scroll_y_to(min(y, self.max_scroll_y))
            self._follow(self.scroll_offset.y >= self.max_scroll_y)
