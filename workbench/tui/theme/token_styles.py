"""The styles a token view draws with, as a theme and the terminal's colours give them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace
from rich.style import Style
from textual.app import App

from workbench.domain.token_levels import Mode


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

    def of(self, mode: Mode) -> Sequence[Style]:
        """The styles of what a mode shows."""
        if mode is Mode.DIFFERENCE:
            return self.differences
        return (mode is Mode.CONTINUOUS and self.shades) or self.levels


def _fixed(definition: str = "") -> Style:
    """A style that says everything, so that what lies under it cannot change what it looks like."""
    plain = Style(bold=False, underline=False, reverse=False, italic=False, dim=False)
    return plain + Style.parse(definition)


SIXTEEN_COLOURS = TokenStyles(
    levels=(
        _fixed(),
        _fixed("underline"),
        _fixed("underline bold"),
        _fixed("black on yellow"),
        _fixed("bold bright_white on red"),
    ),
    shades=(),
    differences=(
        _fixed("italic bold black on cyan"),
        _fixed("italic"),
        _fixed(),
        _fixed("underline"),
        _fixed("underline bold black on yellow"),
    ),
    unknown=_fixed("dim"),
    prompt=_fixed("dim"),
    figures=_fixed("dim"),
    control=_fixed("black on green"),
    cursor=_fixed("reverse bold underline"),
    found=_fixed("underline black on cyan"),
    selected=_fixed("bright_white on blue"),
    dimmed=Style(dim=True),
)
"""In the terminal's own colours, of which only the usual pairs can be relied on to be readable."""

NO_COLOURS = replace(
    SIXTEEN_COLOURS,
    # Reverse is left to what lies over a token: cursor, found and selected.
    levels=(
        _fixed(),
        _fixed("underline"),
        _fixed("bold"),
        _fixed("bold underline"),
        _fixed("bold underline italic"),
    ),
    differences=(
        _fixed("italic bold"),
        _fixed("italic"),
        _fixed(),
        _fixed("underline"),
        _fixed("underline bold"),
    ),
    control=_fixed("reverse dim"),
    found=_fixed("reverse italic underline"),
    selected=_fixed("reverse dim underline"),
)
"""In attributes alone."""


def styles_of(app: App[object]) -> TokenStyles:
    """The styles of tokens that hold in an application."""
    styles = getattr(app, "token_styles", None)
    return styles if isinstance(styles, TokenStyles) else NO_COLOURS
