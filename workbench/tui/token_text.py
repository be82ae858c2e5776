"""Tokens as a person reads them in a list: on one line, with every blank visible."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from workbench.domain import display
from workbench.domain.display import show_bytes, visible

_GLYPHS = str.maketrans({" ": "·", "\n": "⏎", "\t": "→"})
_LONGEST = 300
"""Characters of a token that are shown: an endpoint without logprobs may send all its text as one."""


def token_text(text: str, raw: bytes | None = None) -> str:
    """A token's text with visible blanks, cut where it is endless; its bytes where it has no text."""
    if not text:
        return show_bytes(raw) if raw else "∅"
    if len(text) > _LONGEST:
        return f"{token_text(text[:_LONGEST])}…"
    return visible(text).translate(_GLYPHS)


def fit(text: str, width: int) -> str:
    """Text cut or filled to a width in cells, with an ellipsis where it was cut."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return text + " " * (width - cell_len(text))
    return set_cell_size(text, width - 1) + "…"


def percent(probability: float) -> str:
    """A probability in six cells: ` 29.3%`."""
    return display.percent(probability).rjust(6)
