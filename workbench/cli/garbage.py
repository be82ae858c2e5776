"""When a process with a screen looks for garbage: never before the first paint, all of it only in pauses."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = 2.0
"""Between two looks at whether a full collection is due."""
_YOUNG = 20_000
"""New objects after which they are looked at. A stream makes none that only a collection could free, and
looking at every 700, as Python does, took a tenth of its time."""
_MIDDLE = 10
"""Collections of young objects after which those that stayed are looked at too."""
_DUE = 4
"""Collections of young objects after which a full one is due in a pause."""
_OVERDUE = 1_000
"""Collections of the middle generation after which a full one comes even while something streams, so that
hours of it hold no garbage for good."""


@contextmanager
def held() -> Iterator[None]:
    """Collect nothing until `begin`: imports make what stays, and looking at it is a tenth of the start."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def begin() -> None:
    """Collect from now on, without looking at what there is already."""
    # What there is now stays for good: a full collection in the middle of a stream need not look at it.
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _OVERDUE)
    gc.enable()


def collect_what_is_due() -> None:
    """Do the full collection that is due; call it in a pause, as it holds everything up."""
    _, young, middle = gc.get_count()
    if young + middle * _MIDDLE >= _DUE:
        gc.collect()
