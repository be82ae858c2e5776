"""The base of all popups: their frame, their rows, and the keys that they share."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events, on
from textual.await_complete import AwaitComplete
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen, ScreenResultType
from textual.strip import Strip
from textual.widgets import OptionList

from workbench.domain.display import one_line
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.popups.result_screen import dismiss_once


class RowList(OptionList):
    """Textual's option list, with the highlighted row in the highlight's colours throughout."""

    DEFAULT_CSS = """
    RowList, RowList:focus {
        border: none; padding: 0; text-wrap: nowrap; text-overflow: ellipsis; scrollbar-size-vertical: 1;
        background: transparent;
    }
    RowList > .option-list--option-highlighted, RowList:focus > .option-list--option-highlighted {
        background: $accent; color: $background; text-style: bold;
    }
    """

    _pressed: int | None = None
    """The row on which the mouse button was pressed."""

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Note the row, as a click begins and ends on the same one."""
        self._pressed = event.style.meta.get("option")

    def on_click(self, event: events.Click) -> None:
        """Choose no row by dragging the mouse across several."""
        if event.style.meta.get("option") != self._pressed:
            event.prevent_default()

    def render_line(self, y: int) -> Strip:
        """Draw a row; without its own colours if highlighted, as they may not be readable there."""
        strip = super().render_line(y)
        if not self.is_highlighted(y):
            return strip
        style = self.get_visual_style("option-list--option", "option-list--option-highlighted").rich_style
        return Strip(
            [
                # The mouse finds the row by its segments' metadata.
                Segment(text, Style.from_meta(own.meta) + style if own else style)
                for text, own, _ in strip
            ],
            strip.cell_length,
        )

    def is_highlighted(self, y: int) -> bool:
        """Return whether a line of the widget belongs to the highlighted row."""
        line = self.scroll_offset.y + y
        return 0 <= line < len(self._lines) and self._lines[line][0] == self.highlighted


_AROUND = 10
"""Rows of a popup besides those of its list: margins, frame, filter and the note below."""
_MOST_ROWS = 30
"""The most rows of a list that are shown at once."""


class Popup(ModalScreen[ScreenResultType]):
    """The base of all popups: Esc closes it; the keys of every screen work."""

    DEFAULT_CSS = """
    Popup { align: center top; background: $background 40%; }
    """
    BINDINGS = bindings_at(Where.EVERYWHERE, Where.POPUP)
    where: ClassVar[Where] = Where.POPUP
    """The popup's section of the command table, which the help shows."""

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close with a result."""
        return dismiss_once(self, result)

    def action_close(self) -> None:
        """Close without a result."""
        self.dismiss(None)

    @on(events.Resize)
    def _fit_rows(self, event: events.Resize) -> None:
        # A list higher than the popup would scroll its highlight out of view.
        for rows in self.query(RowList):
            rows.styles.max_height = min(max(event.size.height - _AROUND, 2), _MOST_ROWS)


class Box(Vertical):
    """The frame of a popup, with the title at the top and the keys at the bottom."""

    DEFAULT_CSS = """
    Box { width: 90%; height: auto; margin-top: 2; border: round $accent; background: $surface; padding: 0 1;
        border-subtitle-color: $text-muted; }
    """

    def __init__(self, title: str, keys: str = "") -> None:
        super().__init__()
        self.border_title, self.border_subtitle = Content(one_line(title)), Content(one_line(keys))
