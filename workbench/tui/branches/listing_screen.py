"""A screen of rows with figures over a passage about the row under the cursor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events, getters, on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ScreenResultType
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from workbench.tui.branches.row_text import figure_heads
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.popups.key_row import KeyRow
from workbench.tui.popups.result_screen import ResultScreen
from workbench.tui.popups.row_list import RowList

_MARK, _NO_MARK = "▸", " "
"""At the beginning of the row under the cursor, which colours alone may not show, and of all others."""
_EDGES = 5
"""Cells of a row that frame, mark and scrollbar take."""


class ListingScreen(ResultScreen[ScreenResultType]):
    """Rows to choose from, laid out for the width; a class below fills them."""

    DEFAULT_CSS = """
    ListingScreen #heads { height: 1; color: $text-muted; padding: 0 3 0 1; text-align: right; }
    ListingScreen RowList, ListingScreen RowList:focus {
        border: round $border-blurred; height: 3fr;
    }
    ListingScreen RowList > .option-list--option { padding: 0; }
    ListingScreen VerticalScroll {
        border: round $border-blurred; height: 2fr; padding: 0 1; background: $background;
        scrollbar-size-vertical: 1;
    }
    ListingScreen #passage { width: 1fr; height: auto; }
    """
    BINDINGS = bindings_at(Where.LISTING)
    heading: ClassVar[str]

    options = getters.query_one(OptionList)

    def __init__(self) -> None:
        super().__init__()
        self._drawn = 0
        self._place = -1
        self._rows: list[Content] = []

    def compose(self) -> ComposeResult:
        yield Static(id="about")
        yield Static(id="heads")
        yield RowList(markup=False)
        with VerticalScroll(can_focus=False):
            yield Static(id="passage")
        yield KeyRow(self.where)

    @on(events.Resize)
    def _fit(self, event: events.Resize) -> None:
        if event.size.width != self._drawn:
            self._drawn = event.size.width
            self.show_rows()
            self.options.focus()

    @property
    def row_width(self) -> int:
        """Cells that a row may fill."""
        return max(self.size.width - _EDGES, 1)

    def show_rows(self) -> None:
        """Show all rows as they are now."""
        raise NotImplementedError

    def passage_of(self, place: int) -> Content:
        """What there is to say of the row at a place."""
        raise NotImplementedError

    def put_rows(self, rows: Sequence[Content], place: int, words: str) -> None:
        """Show these rows with the cursor on one of them; `words` say what they are."""
        self.query_one("#about", Static).update(Content.assemble((self.heading, "bold"), f"  {words}"))
        self.query_one("#heads", Static).update(Content(figure_heads(self.row_width)))
        self._rows = [Content.assemble(_NO_MARK, row) for row in rows]
        self.options.clear_options()
        self.options.add_options(map(Option, self._rows))
        if rows:
            self.options.highlighted = place
        else:
            self.query_one("#passage", Static).update(Content(""))

    @on(OptionList.OptionHighlighted)
    def _look(self, event: OptionList.OptionHighlighted) -> None:
        self.query_one("#passage", Static).update(self.passage_of(event.option_index))
        self._show_plain(event.option_index)
        if event.option_index != self._place:
            self._place = event.option_index
            self.query_one(VerticalScroll).scroll_home(animate=False)

    def put_row(self, place: int, row: Content) -> None:
        """Show one row in another state, and what there is to say of it where the cursor is on it."""
        self._rows[place] = Content.assemble(_NO_MARK, row)
        if place == self.options.highlighted:
            self._show_plain(place)
            self.query_one("#passage", Static).update(self.passage_of(place))
        else:
            self.options.replace_option_prompt_at_index(place, self._rows[place])

    def _show_plain(self, place: int) -> None:
        """Let the row under the cursor have the cursor's colours alone: others may not show on them."""
        if 0 <= self._place < len(self._rows):
            self.options.replace_option_prompt_at_index(self._place, self._rows[self._place])
        plain = self._rows[place].plain.removeprefix(_NO_MARK)
        self.options.replace_option_prompt_at_index(place, Content(f"{_MARK}{plain}"))

    def action_scroll_passage(self, pages: int) -> None:
        """Scroll the passage by pages."""
        passage = self.query_one(VerticalScroll)
        passage.scroll_relative(y=pages * max(passage.size.height - 1, 1), animate=False)
