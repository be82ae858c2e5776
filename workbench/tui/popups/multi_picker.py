"""A list from which several items can be selected."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from workbench.domain.display import one_line
from workbench.tui.commands.command import Where
from workbench.tui.commands.keymap import key_of
from workbench.tui.commands.table import bindings_at
from workbench.tui.fixed_width import pad
from workbench.tui.popups.picker import Item
from workbench.tui.popups.popup import Box, Popup, RowList


@dataclass(frozen=True, slots=True)
class Selection:
    """The state of a list that a person has left."""

    values: tuple[str, ...] = ()
    """The values selected, in the order of the list."""
    is_switched: bool = False
    """Whether the list's switch is on."""
    highlighted: str = ""
    """The value under the cursor; if empty, the first one selected."""
    varied: str | None = None
    """The value to add a variation of; None if the selection is final."""

    def with_added(self, value: str, most: int) -> Selection:
        """Return a copy with another value under the cursor, selected if fewer than `most` values are."""
        values = (*self.values, value) if len(self.values) < most else self.values
        return replace(self, values=values, highlighted=value)


class MultiPicker(Popup[Selection]):
    """A list whose items Space selects; returns the selection, or None."""

    DEFAULT_CSS = """
    MultiPicker > Box { max-width: 100; border-title-color: $foreground; }
    MultiPicker RowList { height: auto; }
    MultiPicker #further { height: 1; color: $text-muted; }
    """
    BINDINGS = bindings_at(Where.SELECTION)
    where = Where.SELECTION

    def __init__(
        self,
        title: str,
        items: Iterable[Item],
        selection: Selection,
        *,
        least: int,
        most: int,
        can_vary: str = "",
        switch: tuple[str, str] | None = None,
        take: str = "compare",
    ):
        """`least` and `most` limit the number of values selected.

        `can_vary` names the variation that + adds; empty if there is none. `switch` names the two states that
        the key s switches between, the initial one first. `take` names what Enter does.
        """
        super().__init__()
        self._switch = switch
        self._is_switched = selection.is_switched
        self._can_vary = can_vary
        self._take = take
        self._title = title
        self._items = list(items)
        self._width = min(max((cell_len(one_line(item.title, 60)) for item in self._items), default=0), 30)
        values = [item.value for item in self._items]
        self._chosen = set(selection.values) & set(values)
        first = next((value for value in values if value in self._chosen), "")
        highlighted = selection.highlighted or first
        self._first = values.index(highlighted) if highlighted in values else 0
        self._least, self._most = least, most

    def compose(self) -> ComposeResult:
        with Box(self._title):
            yield RowList(*(Option(self._line(item)) for item in self._items), markup=False)
            yield Static(id="further", markup=False)

    def on_mount(self) -> None:
        """Highlight the item highlighted last, or the first one selected."""
        options = self.query_one(OptionList)
        options.highlighted = self._first
        options.focus()
        self._count()

    @on(OptionList.OptionSelected)
    def action_choose(self) -> None:
        """Select the highlighted item, or deselect it."""
        index = self.query_one(OptionList).highlighted
        if index is None:
            return
        value = self._items[index].value
        if value not in self._chosen and len(self._chosen) >= self._most:
            self.notify(f"At most {self._most}.", timeout=2)
            return
        self._chosen ^= {value}
        self.query_one(OptionList).replace_option_prompt_at_index(index, self._line(self._items[index]))
        self._count()

    def action_vary(self) -> None:
        """Close, asking for a variation of the highlighted item."""
        index = self.query_one(OptionList).highlighted
        if index is not None and self._can_vary:
            value = self._items[index].value
            self.dismiss(replace(self._selection, highlighted=value, varied=value))

    def action_switch(self) -> None:
        """Toggle the switch, if the list has one."""
        self._is_switched = self._switch is not None and not self._is_switched
        self._count()

    @property
    def _selection(self) -> Selection:
        values = (item.value for item in self._items if item.value in self._chosen)
        return Selection(tuple(values), self._is_switched)

    def action_take(self) -> None:
        """Return the selection if it has enough values."""
        if len(self._chosen) < self._least:
            key = key_of(self.app, "choose_item")
            self.notify(f"Choose at least {self._least} with {key}.", timeout=3)
            return
        self.dismiss(self._selection)

    def _count(self) -> None:
        toggle, take, vary, switch = (
            key_of(self.app, id) for id in ("choose_item", "take_items", "vary_item", "switch_items")
        )
        further = [f"{vary} {self._can_vary}"] * bool(self._can_vary)
        further += [f"{switch} {self._switch[self._is_switched]}"] if self._switch is not None else []
        box = self.query_one("#further", Static)
        box.display = bool(further)
        box.update(" · ".join(further))
        count = f"{len(self._chosen)} of {self._most} selected"
        keys = f"{count} · {toggle} toggle · {take} {self._take} · Esc cancel"
        self.query_one(Box).border_subtitle = Content(keys)

    def _line(self, item: Item) -> Content:
        return Content.assemble(
            "✓ " if item.value in self._chosen else "· ",
            (pad(one_line(item.title, 60), self._width), "bold"),
            (f"  {one_line(item.detail, 120)}", "$text-muted"),
        )
