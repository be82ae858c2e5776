"""How a token is selected, from where the focus is."""

from __future__ import annotations

from textual.widget import Widget
from textual.widgets import TextArea


def how_to_select(focused: Widget | None) -> str:
    """The keys that select a token; a text takes the arrows for its own cursor."""
    if isinstance(focused, TextArea):
        return "F4, then ← or → picks a token"
    return "Press ← or → to select a token"
