"""A bar chart of block characters."""

from __future__ import annotations

from collections.abc import Sequence

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_WIDEST = 9
_NARROWEST = 3
_GUTTER = 10


def bar_chart(labels: Sequence[str], values: Sequence[float | None], height: int, width: int) -> list[str]:
    """Rows of a chart, the highest first, and one row of labels; bars that do not fit are left out.

    Bars stand on zero, or on the least value where it is negative. Empty where no value is known.
    """
    known = [value for value in values if value is not None]
    if not known:
        return []
    low, high = min(0.0, *known), max(0.0, *known)
    each = max(_NARROWEST, min(_WIDEST, (width - _GUTTER) // len(values) - 1))
    fitting = max((width - _GUTTER) // (each + 1), 1)
    eighths = [
        None if value is None else round((value - low) / ((high - low) or 1) * height * 8)
        for value in values[:fitting]
    ]
    rows = []
    for row in range(height):
        floor = (height - 1 - row) * 8
        edge = f"{high:.3g}" if row == 0 else f"{low:.3g}" if row == height - 1 else ""
        bars = (
            " " * each if one is None else _EIGHTHS[min(max(one - floor, 0), 8)] * each for one in eighths
        )
        rows.append(f"{edge:>{_GUTTER - 1}} " + " ".join(bars))
    rows.append(" " * _GUTTER + " ".join(label[:each].ljust(each) for label in labels[:fitting]))
    return rows
