"""Texts and probabilities in cells of a fixed width."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from workbench.domain import display


def pad(text: str, width: int) -> str:
    """Text filled to a width in cells; a longer one is left as it is."""
    return text + " " * (width - cell_len(text))


def fit(text: str, width: int) -> str:
    """Text cut or filled to a width in cells, with an ellipsis where it was cut."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return pad(text, width)
    return set_cell_size(text, width - 1) + "…"


def percent(probability: float) -> str:
    """A probability in six cells: ` 29.3%`."""
    return display.percent(probability).rjust(6)
