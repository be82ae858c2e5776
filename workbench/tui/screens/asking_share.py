"""Asking for a probability."""

from __future__ import annotations

from collections.abc import Callable
from math import exp

from textual.app import App

from workbench.domain.display import one_line
from workbench.tui.screens.naming import Naming


def ask_share(app: App[object], title: str, share: float, take: Callable[[float], None]) -> None:
    """Ask for a probability, as `10%`, `0.1` or the surprisal `2.3 nats`; `take` is told it."""

    def typed(text: str | None) -> None:
        if text is None:
            return
        if (found := read_share(text)) is not None:
            take(found)
        else:
            words = f"{one_line(text, 40)} is no probability between 0 and 1.\nType 10%, 0.1 or 2.3 nats."
            app.notify(words, title="Nothing was changed", severity="warning", markup=False)

    app.push_screen(Naming(title, f"{share * 100:g}%"), typed)


def read_share(text: str) -> float | None:
    """The probability that a text means; None where it means none between 0 and 1."""
    words = text.strip().lower()
    number = words.removesuffix("%").removesuffix("nats").removesuffix("nat").strip()
    try:
        value = float(number)
    except ValueError:
        return None
    if words.endswith("%"):
        value /= 100
    elif words.endswith(("nat", "nats")):
        value = exp(-value) if value > 0 else 0.0
    return value if 0 < value < 1 else None
