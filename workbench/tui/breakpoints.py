"""The layout that fits the terminal, from the first paint on."""

from __future__ import annotations

from typing import TypeVar

from textual.geometry import Size
from textual.screen import Screen

WIDTHS = [(0, "-narrow"), (100, "-medium"), (160, "-wide")]
HEIGHTS = [(0, "-low"), (40, "-tall")]
"""The classes of a screen from so many cells on."""

_Result = TypeVar("_Result")


def begin_at_size(screen: Screen[_Result], size: Size) -> None:
    """Give a screen the classes of its breakpoints before it is laid out for the first time.

    Textual gives them with the first resize only, which a person sees as a flash of another layout, and which
    costs a second layout.
    """
    lengths = ((screen.HORIZONTAL_BREAKPOINTS, size.width), (screen.VERTICAL_BREAKPOINTS, size.height))
    for breakpoints, length in lengths:
        reached = [name for least, name in breakpoints or () if length >= least]
        if reached:
            # Its own parts are styled when it is shown; not for each class before that.
            screen.add_class(reached[-1], update=False)
