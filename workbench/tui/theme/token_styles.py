"""The styles a token view draws with, as a theme and the terminal's colours give them."""

from __future__ import annotations

from msgspec import Struct
from rich.style import Style


class TokenStyles(Struct, frozen=True):
    """Everything a token view needs to know of colour."""

    levels: tuple[Style, Style, Style, Style, Style]
    """By probability: at least .90, .60, .30, .10, and below."""
    shades: tuple[Style, ...]
    """From certain to surprising without steps; empty where there are too few colours."""
    differences: tuple[Style, Style, Style, Style, Style]
    """From what surprises the own model more (italic) to what surprises the other one more (underlined)."""
    unknown: Style
    """A token without a logprob."""
    prompt: Style
    """The prompt above an answer."""
    figures: Style
    """Titles and figures of a run."""
    control: Style
    """A character shown as an escape."""
    cursor: Style
    """The token under the cursor; no level looks like it."""
    found: Style
    """A place that the search found."""
    selected: Style
    """Text selected for copying."""
    dimmed: Style
    """Laid over an answer that a newer failure pushed back, or a prefix that all columns share."""
