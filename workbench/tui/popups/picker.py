"""What lies on top of the main screen: the common keys of all popups, and the list to choose from."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from textwrap import wrap
from typing import ClassVar, NamedTuple, TypeAlias

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events, on, work
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen, ScreenResultType
from textual.strip import Strip
from textual.widgets import Input, Label, OptionList, Static
from textual.widgets.option_list import Option

from workbench.domain.display import one_line
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.editor.inputs import LineInput
from workbench.tui.fixed_width import pad
from workbench.tui.popups.result_screen import dismiss_once


class RowList(OptionList):
    """Textual's list of options, whose rows may be of several colours that need not show on the highlight."""

    DEFAULT_CSS = """
    RowList, RowList:focus {
        border: none; padding: 0; text-wrap: nowrap; text-overflow: ellipsis; scrollbar-size-vertical: 1;
        background: transparent;
    }
    RowList > .option-list--option-highlighted, RowList:focus > .option-list--option-highlighted {
        background: $accent; color: $background; text-style: bold;
    }
    """

    def render_line(self, y: int) -> Strip:
        """One row; a colour of its own that stood on the highlight might not be readable."""
        strip = super().render_line(y)
        index = self.highlighted
        line = self.scroll_offset.y + y
        if index is None or not 0 <= line < len(self._lines) or self._lines[line][0] != index:
            return strip
        style = self.get_visual_style("option-list--option", "option-list--option-highlighted").rich_style
        return Strip(
            [
                # The mouse finds the row by what its segments carry.
                Segment(text, Style.from_meta(own.meta) + style if own else style)
                for text, own, _ in strip
            ],
            strip.cell_length,
        )


_AROUND = 10
"""Rows of a popup beside those of its list: margins, frame, filter, and the note below."""
_MOST_ROWS = 30
_TITLE = 60
"""Characters of an item's title that are shown."""


class Popup(ModalScreen[ScreenResultType]):
    """A popup: Esc closes it; stopping, copying and leaving work as they do below it."""

    DEFAULT_CSS = """
    Popup { align: center top; background: $background 40%; }
    """
    BINDINGS = bindings_at(Where.EVERYWHERE, Where.POPUP)
    where: ClassVar[Where] = Where.POPUP
    """Whose keys help shows."""

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close with a result."""
        return dismiss_once(self, result)

    def action_close(self) -> None:
        """Close without a result."""
        self.dismiss(None)

    @on(events.Resize)
    def _fit_rows(self, event: events.Resize) -> None:
        # A list that is higher than its frame would scroll where it is not seen.
        for rows in self.query(RowList):
            rows.styles.max_height = min(max(event.size.height - _AROUND, 2), _MOST_ROWS)


class Box(Vertical):
    """The frame of a popup, with its title above and its keys below."""

    DEFAULT_CSS = """
    Box { width: 90%; height: auto; margin-top: 2; border: round $accent; background: $surface; padding: 0 1;
        border-subtitle-color: $text-muted; }
    """

    def __init__(self, title: str, keys: str = "") -> None:
        super().__init__()
        self.border_title, self.border_subtitle = Content(one_line(title)), Content(one_line(keys))


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to choose."""

    value: str
    title: str
    detail: str = ""
    key: str = ""
    """Its key, where it has one."""
    group: str = ""
    """The heading that it stands under."""
    text: str = ""
    """Text in which it is found too, but which is not shown."""

    def rank(self, typed: str) -> int | None:
        """How well it matches what was typed, 0 the best; None where a word occurs nowhere in it."""
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
    """What is known only once the list is open: further items, and a note in place of the keys."""

    items: Sequence[Item]
    note: str


LateItems: TypeAlias = Callable[[], Awaitable[Late]]
"""Finds out what is known late; called only where the list is opened."""


class Picker(Popup[str]):
    """A list that typing filters; answers with the value chosen, or None."""

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
        """`free_text` lets what was typed be the answer.

        `more` is called and awaited beside the open list, for what takes time to find out. `aside` keeps the
        list at the right edge, so that what lies below is seen. `wraps` shows every detail in full, on
        several lines.
        """
        super().__init__(classes="-aside" if aside else None)
        self._title = title
        self._items = list(items)
        self._shown: list[Item | None] = []
        """A row each; None is a heading."""
        self._columns = 0, 0
        self._chosen = chosen
        self._free_text = free_text
        self._note = note
        self._more = more
        self._wraps = wraps
        # Held here, as what was typed may come when the popup is closed and has them no more.
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
        """Show all."""
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
        """Show other items, and highlight the one chosen."""
        self._items, self._chosen = list(items), chosen
        self._typed.value = ""
        self._show("")

    @property
    def highlighted(self) -> str | None:
        """The value of the highlighted item; None where nothing matches."""
        return item.value if (item := self._item(self._rows.highlighted)) else None

    def _item(self, row: int | None) -> Item | None:
        return self._shown[row] if row is not None and row < len(self._shown) else None

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        self._show(event.value)

    def matching(self, typed: str) -> list[Item]:
        """The items that match what was typed, the best first."""
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
            chosen = (item for item in found if item.value == self._chosen and not is_filtered)
            options.highlighted = self._shown.index(next(chosen, found[0]))

    def action_move(self, by: int) -> None:
        """Look at another item."""
        options = self._rows
        rows = [row for row, item in enumerate(self._shown) if item is not None]
        if rows:
            index = bisect_left(rows, options.highlighted or 0) + by
            options.highlighted = rows[
                index % len(rows) if abs(by) == 1 else max(0, min(index, len(rows) - 1))
            ]

    @on(OptionList.OptionHighlighted)
    def _look(self, event: OptionList.OptionHighlighted) -> None:
        if (item := self._item(event.option_index)) is not None:
            self.preview(item)

    def preview(self, item: Item) -> None:
        """Show all of the item under the cursor."""
        self._show_whole(item)

    @on(events.Resize)
    def _fit_more(self) -> None:
        self.call_after_refresh(self._fit_lines)

    def _fit_lines(self) -> None:
        item = self._item(self._rows.highlighted)
        if item is not None and self._wraps:
            self._chosen = item.value
            self._show(self._typed.value)
        elif item is not None:
            self._show_whole(item)

    def _show_whole(self, item: Item) -> None:
        """Show below the list what there is no room for in the item's line."""
        options, more = self._rows, self._detail
        room = options.scrollable_content_region.width
        is_cut = bool(room) and not self._wraps and self._line(item).cell_length > room
        more.set_class(is_cut, "-shown")
        if is_cut:
            more.update(Content(one_line(item.detail, 400)))

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
        """The row of an item: its title, key and detail in columns."""
        width, keys = self._columns
        title = Content.styled(pad(one_line(item.title, _TITLE), width), "bold")
        key = f"  {pad(item.key, keys)}" if keys else ""
        detail = one_line(f"{item.group}: {item.detail}" if with_group and item.group else item.detail, 120)
        room = self._rows.scrollable_content_region.width
        if self._wraps and room:
            indent = " " * (width + keys + 4)
            lines = wrap(
                detail,
                room,
                initial_indent=" " * (title.cell_length + len(key) + 2),
                subsequent_indent=indent,
            )
            return Content.assemble(title, key, "  ", "\n".join(lines).lstrip())
        return Content.assemble(title, key, f"  {detail}" if detail else "")
