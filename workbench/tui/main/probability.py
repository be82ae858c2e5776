"""Reading a probability as it is typed."""

from __future__ import annotations

from math import exp


def read_probability(text: str) -> float | None:
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
