"""The base of all popups, and the list from which one item is chosen."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from textwrap import wrap
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len
from textual import events, on, work
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Label, OptionList, Static
from textual.widgets.option_list import Option

from workbench.domain.display import one_line
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.editor.inputs import LineInput
from workbench.tui.fixed_width import pad
from workbench.tui.popups.popup import Box, Popup, RowList

_TITLE = 60
"""The most characters shown of an item's title."""


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a list."""

    value: str
    """What the list returns if the item is chosen."""
    title: str
    detail: str = ""
    key: str = ""
    """The key of a command, as shown to a person."""
    group: str = ""
    """The heading above it."""
    text: str = ""
    """Further text to search, which is not shown."""

    def rank(self, typed: str) -> int | None:
        """Return how well the item matches the filter, 0 being best; None if it lacks one of the words."""
        words, title = typed.casefold().split(), self.title.casefold()
        phrase = " ".join(words)
        if not all(word in f"{title} {self.detail} {self.key} {self.text}".casefold() for word in words):
            return None
        closeness = (
            title == phrase,
            title.startswith(phrase),
            f" {phrase}" in f" {title}",
            all(f" {word}" in f" {title}" for word in words),
            all(word in title for word in words),
            True,
        )
        return closeness.index(True)


class Late(NamedTuple):
    """What is found out while the list is open: further items, and the note below the list."""

    items: Sequence[Item]
    note: str


LateItems: TypeAlias = Callable[[], Awaitable[Late]]
"""Finds further items, which may take time; called once the list is open."""


class Picker(Popup[str]):
    """A list that typing filters; returns the value of the item chosen, or None."""

    DEFAULT_CSS = """
    Picker > Box { width: 96%; max-width: 100; border-title-color: $foreground; }
    Picker RowList { height: auto; scrollbar-gutter: stable; }
    Picker #none { color: $text-muted; display: none; }
    Picker.-empty #none { display: block; }
    Picker #more { height: auto; max-height: 3; color: $text-muted; display: none; }
    Picker #more.-shown { display: block; }
    Picker.-aside { align: right top; background: transparent; }
    Picker.-aside > Box { width: 34; margin: 1 1 0 0; }
    """
    BINDINGS = bindings_at(Where.LIST, Where.PICKER)
    where = Where.PICKER

    def __init__(
        self,
        title: str,
        items: Iterable[Item],
        *,
        chosen: str = "",
        free_text: bool = False,
        note: str = "",
        more: LateItems | None = None,
        aside: bool = False,
        wraps: bool = False,
    ) -> None:
        """`chosen` is the value to highlight first; `note` replaces the keys below the list.

        With `free_text`, the text typed may be returned. `more` finds further items while the list is open.
        `aside` places the list at the right edge, so that the screen below stays visible. `wraps` shows every
        detail in full, on several lines.
        """
        super().__init__(classes="-aside" if aside else None)
        self._title = title
        self._items = list(items)
        self._shown: list[Item | None] = []
        """The item of each row; None for a heading."""
        self._columns = 0, 0
        """Cells of the columns with the titles and the keys."""
        self._chosen = chosen
        self._moved_to = ""
        """The value that the person has moved to since the filter changed."""
        self._free_text = free_text
        self._note = note
        self._more = more
        self._wraps = wraps
        # Not queried: keys may arrive after the popup was closed and its widgets removed.
        placeholder = "filter, or type a name" if free_text else "filter"
        self._typed = LineInput(placeholder=placeholder, select_on_focus=False)
        self._rows = RowList(markup=False)
        self._detail = Static(id="more", markup=False)

    def compose(self) -> ComposeResult:
        with Box(self._title, self._note or "type to filter · Enter choose · Esc close"):
            yield self._typed
            yield self._rows
            yield Label("Enter uses what you typed." if self._free_text else "No matches.", id="none")
            yield self._detail

    def on_mount(self) -> None:
        """Show all items."""
        self._show("")
        if self._more is not None:
            self._add(self._more)

    @work(exclusive=True)
    async def _add(self, more: LateItems) -> None:
        items, note = await more()
        known = {item.value for item in self._items}
        self._items += [item for item in items if item.value not in known]
        self.query_one(Box).border_subtitle = Content(one_line(note))
        self._show(self._typed.value)

    def replace_items(self, items: Iterable[Item], chosen: str) -> None:
        """Show other items without a filter, and highlight the value `chosen`."""
        self._items, self._chosen, self._moved_to = list(items), chosen, ""
        self._typed.value = ""
        self._show("")

    @property
    def highlighted(self) -> str | None:
        """The value of the highlighted item; None if nothing matches."""
        return item.value if (item := self._item(self._rows.highlighted)) else None

    def _item(self, row: int | None) -> Item | None:
        return self._shown[row] if row is not None and row < len(self._shown) else None

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        self._moved_to = ""
        self._show(event.value)

    def matching(self, typed: str) -> list[Item]:
        """Return the items that match the filter, the best first."""
        ranked = [(rank, item) for item in self._items if (rank := item.rank(typed)) is not None]
        return [item for _, item in sorted(ranked, key=itemgetter(0))]

    def _show(self, text: str) -> None:
        found = self.matching(text)
        is_filtered = bool(text.split())
        options = self._rows
        options.clear_options()
        widths = (
            max((cell_len(one_line(item.title, _TITLE)) for item in found), default=0),
            max((cell_len(item.key) for item in found), default=0),
        )
        most = (18, 12) if self._wraps else (40, 40)
        self._columns = min(widths[0], most[0]), min(widths[1], most[1])
        self._shown = []
        rows: list[Option] = []
        group = ""
        for item in found:
            if item.group != group and not is_filtered:
                group = item.group
                self._shown.append(None)
                rows.append(Option(Content.styled(f"── {group}", "$text-muted"), disabled=True))
            self._shown.append(item)
            rows.append(Option(self._line(item, with_group=is_filtered)))
        options.add_options(rows)
        self.set_class(not found, "-empty")
        if found:
            wanted = self._moved_to or ("" if is_filtered else self._chosen)
            item = next((item for item in found if item.value == wanted), found[0])
            options.highlighted = self._shown.index(item)

    def action_move(self, by: int) -> None:
        """Move the highlight; by one it wraps around, by more it stops at the ends."""
        options = self._rows
        rows = [row for row, item in enumerate(self._shown) if item is not None]
        if rows:
            index = bisect_left(rows, options.highlighted or 0) + by
            row = rows[index % len(rows) if abs(by) == 1 else max(0, min(index, len(rows) - 1))]
            options.highlighted = row
            self._moved_to = self.highlighted or ""

    @on(OptionList.OptionHighlighted)
    def _look(self, event: OptionList.OptionHighlighted) -> None:
        if (item := self._item(event.option_index)) is not None:
            self.preview(item)

    def preview(self, item: Item) -> None:
        """Show the detail of the highlighted item below the list if its row is too short for it."""
        room = self._rows.scrollable_content_region.width
        is_cut = bool(room) and not self._wraps and self._line(item).cell_length > room
        self._detail.set_class(is_cut, "-shown")
        if is_cut:
            self._detail.update(Content(one_line(item.detail, 400)))

    @on(events.Resize)
    def _fit_details(self) -> None:
        self.call_after_refresh(self._show_details)

    def _show_details(self) -> None:
        item = self._item(self._rows.highlighted)
        if item is not None and self._wraps:
            self._moved_to = item.value
            self._show(self._typed.value)
        elif item is not None:
            self.preview(item)

    @on(OptionList.OptionSelected)
    def _select(self, event: OptionList.OptionSelected) -> None:
        if (item := self._item(event.option_index)) is not None:
            self.dismiss(item.value)

    @on(Input.Submitted)
    def _submit(self, event: Input.Submitted) -> None:
        typed, value = event.value.strip(), self.highlighted
        begins = any(item and item.title.casefold().startswith(typed.casefold()) for item in self._shown)
        if value is not None and (not self._free_text or begins):
            self.dismiss(value)
        elif self._free_text and typed:
            self.dismiss(typed)

    def _line(self, item: Item, *, with_group: bool = False) -> Content:
        """Return the row of an item: its title, key and detail in columns."""
        width, keys = self._columns
        title = Content.styled(pad(one_line(item.title, _TITLE), width), "bold")
        key = f"  {pad(item.key, keys)}" if keys else ""
        detail = one_line(f"{item.group}: {item.detail}" if with_group and item.group else item.detail, 120)
        room = self._rows.scrollable_content_region.width
        if self._wraps and room:
            first, others = " " * (title.cell_length + len(key) + 2), " " * (width + keys + 4)
            lines = wrap(detail, room, initial_indent=first, subsequent_indent=others)
            return Content.assemble(title, key, "  ", "\n".join(lines).lstrip())
        return Content.assemble(title, key, f"  {detail}" if detail else "")
