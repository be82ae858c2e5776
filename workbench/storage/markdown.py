"""Texts of strangers in Markdown: shown, never followed."""

from __future__ import annotations

import re

from workbench.domain.display import visible


def inline(text: str) -> str:
    """A text as one line of Markdown."""
    # Markup in a title is shown, not followed.
    return re.sub(r"([\\`*_\[\]<>#|~!])", r"\\\1", visible(" ".join(text.split())))


def code(text: str) -> str:
    """A text as a piece of code within a line."""
    text = visible(" ".join(text.split()))
    ticks = "`" * (_longest(text) + 1)
    return f"{ticks} {text} {ticks}"


def fenced(text: str) -> str:
    """A text as a block that it cannot break out of."""
    fence = "`" * max(_longest(text) + 1, 3)
    return f"{fence}text\n{visible(text)}\n{fence}"


def _longest(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
