"""The table of a grid's cells, with a cursor."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import ClassVar, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.coordinate import Coordinate
from textual.geometry import Region, Size, Spacing
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip

LABEL_CELLS = 24
"""The most cells of a row's name or column's head."""
_LEAST_CELLS = 9
"""The fewest cells of a column's text."""


class TableCell(NamedTuple):
    """The text and style of a cell."""

    text: str
    style: Style


class CellTable(ScrollView, can_focus=True):
    """Shows rows of cells with fixed heads and names; draws only the rows in view."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "cell-table--head",
        "cell-table--name",
        "cell-table--cursor",
    }
    DEFAULT_CSS = """
    CellTable {
        height: auto;
        color: $foreground;
        &:focus { background-tint: $foreground 5%; }
        &:focus > .cell-table--head { background-tint: $foreground 5%; }
        & > .cell-table--head { text-style: bold; background: $panel; color: $foreground; }
        & > .cell-table--name { background: $secondary-muted; color: $foreground; }
        &:ansi > .cell-table--head, &:ansi > .cell-table--name {
            background: ansi_default;
            color: ansi_default;
        }
        & > .cell-table--cursor {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
            text-style: $block-cursor-text-style;
        }
    }
    """
    cursor = var(Coordinate(0, 1), init=False)
    """The cell under the cursor; column 0 has the rows' names."""

    class CellHighlighted(Message):
        """The cursor moved to another cell."""

    class Opened(Message):
        """The cell under the cursor was clicked."""

    def __init__(self, corner: str, names: Sequence[str], heads: Sequence[str]) -> None:
        """`corner` is the head of the rows' `names`; like the columns' `heads`, all must be escaped."""
        super().__init__()
        self.names = names
        self.heads = heads
        self.cells: Sequence[TableCell] = [TableCell("", Style())] * (len(names) * len(heads))
        """The cells, row by row."""
        self._corner = corner
        self._name_width = max(map(cell_len, (corner, *names))) + 2
        widths = [max(min(cell_len(head), LABEL_CELLS), _LEAST_CELLS) + 2 for head in heads]
        self._edges = list(accumulate(widths, initial=self._name_width))
        self.set_reactive(CellTable.virtual_size, Size(self._edges[-1], len(names) + 1))

    def show(self, cells: Sequence[TableCell]) -> None:
        """Replace all cells, given row by row."""
        old, self.cells, across = self.cells, cells, len(self.heads)
        for row in range(len(self.names)):
            part = slice(row * across, (row + 1) * across)
            if old[part] != cells[part]:
                self._refresh_row(row)

    def _refresh_row(self, row: int) -> None:
        y = row + 1 - self.scroll_offset.y
        if 0 < y < self.size.height:
            self.refresh(Region(0, y, self.size.width, 1))

    def render_line(self, y: int) -> Strip:
        """Draw the heads, or a row."""
        width, left, row = self.size.width, self.scroll_offset.x, y - 1 + self.scroll_offset.y
        if row >= len(self.names) and y:
            return Strip.blank(width, self.rich_style)
        name, cells = self._row(row) if y else self._head()
        room = max(width - self._name_width, 0)
        seen = Strip(cells).crop(left, left + room).extend_cell_length(room, cells[-1].style)
        return Strip.join([Strip([name]), seen]).crop(0, width)

    def _head(self) -> tuple[Segment, list[Segment]]:
        style = self.get_component_rich_style("cell-table--head")
        heads = [self._padded(head, index, style) for index, head in enumerate(self.heads)]
        return Segment(set_cell_size(f" {self._corner}", self._name_width), style), heads

    def _row(self, row: int) -> tuple[Segment, list[Segment]]:
        base, cursor = self.rich_style, self.get_component_rich_style("cell-table--cursor")
        marked = self.cursor.column if self.cursor.row == row else -1
        name = cursor if marked == 0 else self.get_component_rich_style("cell-table--name")
        segments = []
        for index in range(len(self.heads)):
            text, style = self.cells[row * len(self.heads) + index]
            if index + 1 == marked:
                segments.append(self._padded(f" {text}", index, cursor))
                continue
            room = self._edges[index + 1] - self._edges[index] - 2
            shown = set_cell_size(f" {text} ", min(cell_len(text) + 2, room))
            segments += [Segment(" ", base), Segment(shown, base + style)]
            segments.append(Segment(" " * (room + 1 - cell_len(shown)), base))
        return Segment(set_cell_size(f" {self.names[row]}", self._name_width), name), segments

    def _padded(self, text: str, index: int, style: Style) -> Segment:
        room = self._edges[index + 1] - self._edges[index]
        return Segment(set_cell_size(f" {set_cell_size(text, room - 2)}", room), style)

    # --- the cursor --------------------------------------------------------------------------------------

    def validate_cursor(self, cursor: Coordinate) -> Coordinate:
        """Keep the cursor in the table."""
        row = max(min(cursor.row, len(self.names) - 1), 0)
        return Coordinate(row, max(min(cursor.column, len(self.heads)), 0))

    def watch_cursor(self, old: Coordinate, new: Coordinate) -> None:
        """Redraw the rows of the old and the new cursor, and scroll to the new one."""
        self._refresh_row(old.row)
        self._refresh_row(new.row)
        column = max(new.column - 1, 0)
        left, right = self._edges[column], self._edges[column + 1]
        seen = Region(left, new.row + 1, right - left, 1)
        fixed = Spacing(top=1, left=self._name_width)
        self.scroll_to_region(seen, spacing=fixed, animate=False, force=True)
        self.post_message(self.CellHighlighted())

    def _page(self) -> int:
        return max(self.scrollable_content_region.height - 1, 1)

    def action_scroll_up(self) -> None:
        """Move the cursor to the cell above."""
        self.cursor = self.cursor.up()

    def action_scroll_down(self) -> None:
        """Move the cursor to the cell below."""
        self.cursor = self.cursor.down()

    def action_scroll_left(self) -> None:
        """Move the cursor to the cell at the left."""
        self.cursor = self.cursor.left()

    def action_scroll_right(self) -> None:
        """Move the cursor to the cell at the right."""
        self.cursor = self.cursor.right()

    def action_page_up(self) -> None:
        """Move the cursor a page up."""
        self.cursor = Coordinate(self.cursor.row - self._page(), self.cursor.column)

    def action_page_down(self) -> None:
        """Move the cursor a page down."""
        self.cursor = Coordinate(self.cursor.row + self._page(), self.cursor.column)

    def action_scroll_home(self) -> None:
        """Move the cursor to the row's name."""
        self.cursor = Coordinate(self.cursor.row, 0)

    def action_scroll_end(self) -> None:
        """Move the cursor to the row's last cell."""
        self.cursor = Coordinate(self.cursor.row, len(self.heads))

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the cell clicked, or open it if the cursor is there already."""
        offset = event.get_content_offset(self)
        if offset is None or offset.y == 0:
            return
        x = offset.x if offset.x < self._name_width else offset.x + self.scroll_offset.x
        clicked = Coordinate(offset.y - 1 + self.scroll_offset.y, bisect_right(self._edges, x))
        if clicked == self.cursor:
            self.post_message(self.Opened())
        elif clicked == self.validate_cursor(clicked):
            self.cursor = clicked
