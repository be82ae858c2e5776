"""The terminal going away under the application."""

from __future__ import annotations

import os
import threading

_STATUS = 129
"""Exit status of a process that a hang-up ended: 128 + SIGHUP."""
_LAST_SECONDS = 8.0
"""Time to close connections before the process ends by force."""


def let_go_of_terminal() -> None:
    """Write to nowhere from now on, and end the process soon whatever happens.

    Textual's writer thread dies of the first write to a terminal that is gone, and once its queue is full
    every further write waits for ever. Call this after everything is saved.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    last = threading.Timer(_LAST_SECONDS, os._exit, (_STATUS,))
    last.daemon = True
    last.start()
