"""Choosing several things from a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from workbench.domain.display import one_line
from workbench.tui.screens.popup import Item, Popup
from workbench.tui.widgets.row_list import RowList


class SeveralPicker(Popup[Sequence[str]]):
    """A list in which Space chooses; answers with the values chosen, in the list's order, or None."""

    DEFAULT_CSS = """
    SeveralPicker { align: center top; background: $background 40%; }
    SeveralPicker > Vertical {
        width: 90%; max-width: 100; height: auto; margin-top: 2;
        border: round $accent; background: $surface; padding: 0 1;
        border-title-color: $foreground; border-subtitle-color: $text-muted;
    }
    SeveralPicker RowList { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "choose", "Choose", show=False, priority=True),
        Binding("enter", "take", "Take", show=False, priority=True),
        Binding("plus", "vary", "Vary", show=False, priority=True),
        Binding("s", "switch", "Switch", show=False, priority=True),
    ]

    def __init__(
        self,
        title: str,
        items: Iterable[Item],
        chosen: Iterable[str],
        *,
        least: int,
        most: int,
        on_vary: tuple[str, Callable[[SeveralPicker, Item], None]] | None = None,
        switch: tuple[str, str] | None = None,
    ):
        """`on_vary` says what + makes of the item looked at, and is told the item when it is pressed.

        `switch` names what the key s turns off and on: as it is first, and as it is then.
        """
        super().__init__()
        self._switch = switch
        self.is_switched = False
        self._on_vary = on_vary
        self._title = title
        self._items = list(items)
        self._chosen = set(chosen) & {item.value for item in self._items}
        self._least, self._most = least, most

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = Content(one_line(self._title))
            yield RowList(*(Option(self._line(item)) for item in self._items), markup=False)

    def on_mount(self) -> None:
        """Begin at the first one chosen."""
        options = self.query_one(OptionList)
        places = [place for place, item in enumerate(self._items) if item.value in self._chosen]
        options.highlighted = places[0] if places else 0
        options.focus()
        self._count()

    def action_choose(self) -> None:
        """Choose what is looked at, or no longer."""
        place = self.query_one(OptionList).highlighted
        if place is None:
            return
        value = self._items[place].value
        if value not in self._chosen and len(self._chosen) >= self._most:
            self.notify(f"At most {self._most}.", markup=False, timeout=2)
            return
        self._chosen ^= {value}
        self.query_one(OptionList).replace_option_prompt_at_index(place, self._line(self._items[place]))
        self._count()

    def action_vary(self) -> None:
        """Ask for a variation of what is looked at."""
        place = self.query_one(OptionList).highlighted
        if place is not None and self._on_vary is not None:
            self._on_vary[1](self, self._items[place])

    def action_switch(self) -> None:
        """Turn the switch on or off."""
        self.is_switched = self._switch is not None and not self.is_switched
        self._count()

    def add(self, item: Item) -> None:
        """Add an item below the others and choose it, where that is not one too many."""
        options = self.query_one(OptionList)
        self._items.append(item)
        options.add_option(Option(self._line(item)))
        options.highlighted = len(self._items) - 1
        self.action_choose()

    @on(OptionList.OptionSelected)
    def _toggle_clicked(self) -> None:
        self.action_choose()

    def action_take(self) -> None:
        """Answer with what is chosen, where that is enough."""
        if len(self._chosen) < self._least:
            self.notify(f"Choose at least {self._least} with Space.", markup=False, timeout=3)
            return
        self.dismiss([item.value for item in self._items if item.value in self._chosen])

    def _count(self) -> None:
        more = f" · + {self._on_vary[0]}" if self._on_vary is not None else ""
        more += f" · s {self._switch[self.is_switched]}" if self._switch is not None else ""
        told = f"{len(self._chosen)} of at most {self._most} · Space{more} · Enter · Esc"
        self.query_one(Vertical).border_subtitle = Content(told)

    def _line(self, item: Item) -> Content:
        width = min(max(len(one.title) for one in self._items), 30)
        return Content.assemble(
            "✓ " if item.value in self._chosen else "· ",
            (one_line(item.title, 60).ljust(width), "bold"),
            (f"  {one_line(item.detail, 120)}", "$text-muted"),
        )
