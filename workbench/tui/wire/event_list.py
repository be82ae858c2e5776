"""A request and the events of its answer, one a row: as many as there are, only what is seen is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.fixed_width import fit


class EventRow(NamedTuple):
    """One row: when, the tokens it gave, and the beginning of what came; each safe to show."""

    when: str
    tokens: str
    raw: str


_WHEN, _TOKENS = 9, 16


class EventList(ScrollView, can_focus=True):
    """Rows that are asked for when they are seen, with a cursor."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"event-list--cursor", "event-list--token", "event-list--muted"}
    DEFAULT_CSS = """
    EventList { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; }
    EventList .event-list--cursor { background: $accent; color: $background; text-style: bold; }
    EventList .event-list--token { text-style: bold; }
    EventList .event-list--muted { color: $text-muted; }
    """
    BINDINGS = bindings_at(Where.EVENTS)

    @dataclass
    class Moved(Message):
        """The cursor is on another row."""

        place: int

    def __init__(self, row: Callable[[int], EventRow], *, classes: str | None = None) -> None:
        """`row` makes a row; it is asked for those that are seen."""
        super().__init__(classes=classes)
        self._row = row
        self._count = 0
        self.cursor = 0

    def show(self, count: int) -> None:
        """Have so many rows."""
        if count != self._count:
            self._count = count
            self.virtual_size = Size(self.size.width, count)
            self.refresh()

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        self.go_to(self.cursor + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by what is seen."""
        self.go_to(self.cursor + by * max(self.size.height - 1, 1))

    def action_go(self, place: int) -> None:
        """To the first row, or to the last one."""
        self.go_to(place if place >= 0 else self._count - 1)

    def go_to(self, place: int) -> None:
        """Put the cursor on a row, and that in sight."""
        place = max(0, min(place, self._count - 1))
        self.cursor = place
        top, height = round(self.scroll_y), self.scrollable_content_region.height
        if not top <= place < top + height:
            self.scroll_to(y=max(place - height // 2, 0), animate=False, force=True)
        self.refresh()
        self.post_message(self.Moved(place))

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where one clicks."""
        if (offset := event.get_content_offset(self)) is not None:
            place = offset.y + round(self.scroll_y)
            if place < self._count:
                self.go_to(place)

    def render_line(self, y: int) -> Strip:
        """One row."""
        width = self.scrollable_content_region.width
        place = y + round(self.scroll_y)
        if place >= self._count:
            return Strip.blank(width, self.rich_style)
        row = self._row(place)
        plain = self.rich_style
        token, muted = (
            plain + self.get_component_rich_style(f"event-list--{name}", partial=True)
            for name in ("token", "muted")
        )
        if place == self.cursor:
            plain = token = muted = self.get_component_rich_style("event-list--cursor")
        segments = [
            Segment(f"{row.when:>{_WHEN}}  ", muted),
            Segment(fit(row.tokens, _TOKENS), token),
            Segment(f"  {fit(row.raw, max(width - _WHEN - _TOKENS - 4, 0))}", plain),
        ]
        return Strip(segments).adjust_cell_length(width, plain)
