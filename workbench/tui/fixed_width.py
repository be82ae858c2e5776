"""Format texts and probabilities to a fixed width in terminal cells."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from workbench.domain import display


def pad(text: str, width: int) -> str:
    """Return a text padded with spaces to a width in cells; a longer text is unchanged."""
    return text + " " * (width - cell_len(text))


def fit(text: str, width: int) -> str:
    """Return a text padded or truncated to a width in cells, with an ellipsis if truncated."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return pad(text, width)
    return set_cell_size(text, width - 1) + "…"


def percent(probability: float) -> str:
    """Return a probability in six cells: ` 29.3%`."""
    return display.percent(probability).rjust(6)
