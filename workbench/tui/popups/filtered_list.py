"""A list with a filter field above it, and the details of the highlighted row beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual import getters
from textual.app import ComposeResult
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.editor.inputs import LineInput
from workbench.tui.popups.popup import RowList


class FilteredList(Vertical):
    """Lists rows and shows details; the screen filters the rows and describes the highlighted one."""

    DEFAULT_CSS = """
    FilteredList { height: 1fr; }
    FilteredList Input, FilteredList Input:focus { border: none; height: 1; padding: 0 1; }
    FilteredList Container { layout: horizontal; height: 1fr; }
    FilteredList RowList { border: round $border-blurred; height: 1fr; }
    FilteredList VerticalScroll {
        border: round $border-blurred; height: 1fr; padding: 0 1; background: $background;
        scrollbar-size-vertical: 1;
    }
    FilteredList #details { width: 1fr; height: auto; }
    """
    BINDINGS = bindings_at(Where.LIST)

    filter = getters.query_one(Input)
    options = getters.query_one(OptionList)

    def __init__(self, placeholder: str, wanted: str) -> None:
        """`wanted` is the value to highlight first."""
        super().__init__()
        self._placeholder = placeholder
        self.wanted = wanted
        """The value to highlight if the screen does not highlight the first row."""
        self.values: Sequence[str] = ()
        """The values of the rows."""

    def compose(self) -> ComposeResult:
        yield LineInput(placeholder=self._placeholder, select_on_focus=False)
        with Container():
            yield RowList(markup=False)
            with VerticalScroll(can_focus=False):
                yield Static(id="details")

    def on_mount(self) -> None:
        """Focus the filter, which keeps the focus."""
        self.options.can_focus = False
        self.filter.focus()

    def show_rows(self, rows: Mapping[str, Option], *, first: bool = False) -> None:
        """Replace the rows, given by value; highlight the one wanted, else or with `first` the first one."""
        self.values = list(rows)
        self.options.clear_options()
        self.options.add_options(rows.values())
        if rows:
            index = self.values.index(self.wanted) if self.wanted in rows and not first else 0
            self.options.highlighted = index

    def show_details(self, details: Content) -> None:
        """Show details of the highlighted row, from the top."""
        self.query_one("#details", Static).update(details)
        self.query_one(VerticalScroll).scroll_home(animate=False)

    @property
    def highlighted(self) -> str | None:
        """The value of the highlighted row; None if the list is empty."""
        index = self.options.highlighted
        return self.values[index] if index is not None and index < len(self.values) else None

    def action_move(self, by: int) -> None:
        """Move the highlight, stopping at the ends."""
        if self.values:
            index = (self.options.highlighted or 0) + by
            self.options.highlighted = max(0, min(index, len(self.values) - 1))
            self.wanted = self.highlighted or ""
