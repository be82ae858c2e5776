"""What a person reads where there is no token, or no alternative, for a key to work on."""

from __future__ import annotations

from textual.widget import Widget
from textual.widgets import TextArea

NO_TOKEN = "Press ← or → to select a token first."

OTHER = "(other) is the probability of all tokens that are not listed: there is no token to take."
"""Why nothing can be done with the row of the remaining mass."""

UNLISTED = "This token was sampled, but is not among those listed: there is nothing to branch to."


def how_to_select(focused: Widget | None) -> str:
    """The keys that select a token; a text takes the arrows for its own cursor."""
    if isinstance(focused, TextArea):
        return "F4, then ← or → picks a token"
    return "Press ← or → to select a token"


def no_alternative(number: int, count: int) -> str:
    """Why there is nothing to branch with at a number."""
    if not count:
        return "The token has no alternatives: set logprobs to get some."
    listed = "alternative is" if count == 1 else "alternatives are"
    return f"There is no alternative {number}: {count} {listed} listed."
