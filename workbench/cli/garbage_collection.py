"""Garbage collection of a process with a screen: none before the first paint, full ones only in pauses."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = 2.0
"""Interval of the checks whether a full collection is due."""
_YOUNG = 20_000
"""Threshold of the young generation. Streaming creates no cyclic garbage, and Python's default of 700 took a
tenth of its time."""
_MIDDLE = 10
"""Threshold of the middle generation, in young collections."""
_DUE = 4
"""Young collections after which a full collection is due in a pause."""
_OVERDUE = 1_000
"""Middle collections after which a full collection runs even while streaming, so that hours of streaming do
not accumulate garbage."""


@contextmanager
def held() -> Iterator[None]:
    """Disable collection until `begin`: imported objects stay, and scanning them takes 10 % of the start."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def begin() -> None:
    """Enable collection, except of existing objects."""
    # Existing objects stay for good, so a full collection while streaming need not scan them.
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _OVERDUE)
    gc.enable()


def collect_what_is_due() -> None:
    """Run a full collection if one is due; call it in a pause, because it blocks the process."""
    _, young, middle = gc.get_count()
    if young + middle * _MIDDLE >= _DUE:
        gc.collect()
