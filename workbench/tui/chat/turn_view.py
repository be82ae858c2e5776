"""The transcript of a conversation: tokens as everywhere, and keys for whole turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events, on
from textual.binding import BindingsMap, BindingType
from textual.containers import ScrollableContainer
from textual.message import Message

from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.tokens.token_view import TokenView
from workbench.tui.tokens.transcript import TITLE, ReadingPosition

_KEYS = {
    **BindingsMap(ScrollableContainer.BINDINGS).key_to_bindings,
    **BindingsMap(bindings_at(Where.TOKENS)).key_to_bindings,
}
"""What keys do where they mean tokens."""
_TAKEN = BindingsMap(bindings_at(Where.TURNS)).key_to_bindings


class TurnView(TokenView, inherit_bindings=False):
    """What is done with a turn is its pane's, which gets the keys that mean turns here, not tokens."""

    BINDINGS: ClassVar[list[BindingType]] = [
        one for key, bindings in _KEYS.items() if key not in _TAKEN for one in bindings
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
        if all(section.key != key for section in self.sections):
            return
        y = self._transcript.y_of(ReadingPosition(self._transcript.index_of(key), TITLE, 0))
        top, height = self.scroll_offset.y, self.scrollable_content_region.height
        if not top <= y < top + max(height - 1, 1):
            self._scroll_y_to(min(y, self.max_scroll_y))
            self.is_following = self.scroll_offset.y >= self.max_scroll_y
