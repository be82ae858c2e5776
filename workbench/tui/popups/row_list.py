"""A list of one-line rows of which one is highlighted; on that one only the highlight's colours are drawn."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widgets import OptionList


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
