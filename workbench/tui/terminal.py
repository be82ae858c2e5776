"""The terminal under the application: reading it, stopping and resuming, and its hanging up."""

from __future__ import annotations

import os
import selectors
import signal
import threading
from codecs import getincrementaldecoder
from collections.abc import Iterable
from contextlib import suppress
from functools import cache

from textual.driver import Driver
from textual.message import Message

from workbench.tui.terminal_input import TerminalParser

_STATUS = 129
"""Exit status of a process that a hang-up ended: 128 + SIGHUP."""
_LAST_SECONDS = 8.0
"""Time to close connections before the process ends by force."""
_TICK_SECONDS = 0.1
_RESET = (
    b"\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"
    b"\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l"
)
"""Turns off paste mode, size reports, mouse, keyboard mode, alternate screen and focus reports."""


def is_suspendable() -> bool:
    """Whether a shell is there to resume the program: one that leads its session has nobody above it."""
    return os.getpgrp() != os.getsid(0)


def let_go_of_terminal(attributes: list[object] | None) -> None:
    """Leave the terminal as it was, write to nowhere from now on, and end the process soon whatever happens.

    `attributes` are those of the terminal before the program used it, None where they are unknown. Textual's
    writer thread dies of the first write to a terminal that is gone, and once its queue is full every further
    write waits for ever. Call this after everything is saved.
    """
    # Where there is no such module there is no such terminal either.
    import termios

    terminal = os.dup(0) if os.isatty(0) else None
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    if terminal is not None:
        # A terminal that is gone refuses, and there is nobody to leave it to.
        with suppress(OSError, termios.error):
            os.write(terminal, _RESET)
            if attributes is not None:
                termios.tcsetattr(terminal, termios.TCSANOW, attributes)  # type: ignore[arg-type]
        os.close(terminal)
    last = threading.Timer(_LAST_SECONDS, os._exit, (_STATUS,))
    last.daemon = True
    last.start()


@cache
def safe_driver(driver: type[Driver]) -> type[Driver]:
    """A driver of a terminal that survives whatever is typed and sent; other drivers are left as they are."""
    if driver.__name__ != "LinuxDriver":
        return driver
    # Only where there are such terminals can this be imported.
    from textual.drivers.linux_driver import LinuxDriver

    class TerminalDriver(LinuxDriver):
        """Textual's driver of a terminal, with our parser and another way to stop and to resume."""

        def run_input_thread(self) -> None:
            """Read what is typed until the driver stops; bytes that are not UTF-8 become U+FFFD."""
            parser = TerminalParser()
            decode = getincrementaldecoder("utf-8")("replace").decode
            with selectors.SelectSelector() as selector:
                selector.register(self.fileno, selectors.EVENT_READ)
                while not self.exit_event.is_set():
                    if selector.select(_TICK_SECONDS):
                        data = os.read(self.fileno, 4096)
                        if not data:
                            # A pipe at its end is readable for ever.
                            break
                        # Half a character is not text yet, and an empty text would be the end of input.
                        if text := decode(data):
                            self._process(parser.feed(text))
                    self._process(parser.tick())

        def _process(self, messages: Iterable[Message]) -> None:
            for message in messages:
                self.process_message(message)

        def _sigtstp_application(self, *_: object) -> None:
            if self._auto_restart:
                self.suspend_application_mode()
                self._must_signal_resume = True
            # The whole job, as the shell waits for all of it, a launcher such as `uv run` among it.
            os.killpg(0, signal.SIGSTOP)

        def _sigcont_application(self, *_: object) -> None:
            """Take the terminal back only where there is one, and never twice.

            The kernel sends SIGCONT with a hang-up too, and to a process that was stopped by SIGSTOP, whose
            driver never let go. Further threads would start beside those that read and write already.
            """
            if not self._auto_restart or not os.isatty(self.fileno):
                return
            if not self._must_signal_resume:
                self.suspend_application_mode()
                self._must_signal_resume = True
            self.resume_application_mode()

    return TerminalDriver
