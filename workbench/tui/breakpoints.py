"""The breakpoints of screens, applied from the first paint on."""

from __future__ import annotations

from typing import TypeVar

from textual.geometry import Size
from textual.screen import Screen

WIDTHS = [(0, "-narrow"), (100, "-medium"), (160, "-wide")]
HEIGHTS = [(0, "-low"), (40, "-tall")]
"""The class of a screen for each width and height in cells, from the smallest on."""

_Result = TypeVar("_Result")


def begin_at_size(screen: Screen[_Result], size: Size) -> None:
    """Set the breakpoint classes of a screen before its first layout.

    Textual sets them at the first resize, which shows another layout for a moment and costs a second one.
    """
    lengths = ((screen.HORIZONTAL_BREAKPOINTS, size.width), (screen.VERTICAL_BREAKPOINTS, size.height))
    for breakpoints, length in lengths:
        reached = [name for least, name in breakpoints or () if length >= least]
        if reached:
            # The screen is styled when it is shown, not for each class.
            screen.add_class(reached[-1], update=False)
