"""The terminal going away under the application, and coming back to it."""

from __future__ import annotations

import os
import threading

from textual.driver import Driver

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


def with_safe_resume(driver: type[Driver]) -> type[Driver]:
    """Make a driver take the terminal anew only where there is one, and never twice.

    The kernel sends SIGCONT with a hang-up too, and to a process that was stopped by SIGSTOP, whose driver
    never let go. Textual's driver would start further threads beside those that read and write already.
    """
    if not hasattr(driver, "_sigcont_application"):
        return driver
    # Only where there are such signals can this be imported.
    from textual.drivers.linux_driver import LinuxDriver

    class ResumingDriver(LinuxDriver):
        """Textual's driver of a terminal, with another way back from a stop."""

        def _sigcont_application(self, *_: object) -> None:
            if not self._auto_restart or not os.isatty(self.fileno):
                return
            if not self._must_signal_resume:
                self.suspend_application_mode()
                self._must_signal_resume = True
            self.resume_application_mode()

    return ResumingDriver
