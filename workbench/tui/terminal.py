"""The terminal: parsing its input, suspending and resuming, hang-ups, and the clipboard."""

from __future__ import annotations

import asyncio
import os
import re
import selectors
import signal
import threading
from codecs import getincrementaldecoder
from collections.abc import Generator, Iterable, Mapping
from contextlib import suppress
from functools import cache
from time import monotonic

from textual import events
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.driver import Driver
from textual.keys import Keys
from textual.message import Message

from workbench.domain.display import visible
from workbench.tui.motion import pace_of

PASTE_SECONDS = 5.0
"""Seconds without input after which a paste without an end marker ends."""
_OVERLAP = len(BRACKETED_PASTE_START) - 1
_BARE_END = BRACKETED_PASTE_END[1:]
"""An end marker without its ESC."""
_EXTENDED_KEY = (
    r"\x1b\[(?P<code>[\d:]*)(?:;(?P<modifiers>[\d:]*))?(?:;(?P<text>[\d:]*))?(?P<final>[u~ABCDEFHPQRS])"
)
_RELEASE = "3"
"""The kitty protocol's event type of a key release."""
_UNREADABLE = (ValueError, ArithmeticError, LookupError, TypeError)
"""Exceptions of Textual's parser for unexpected sequences, such as a window of zero cells."""


class TerminalParser:
    """A parser of terminal input: `feed()` takes what was read; call `tick()` at least every 0.1 seconds."""

    def __init__(self) -> None:
        self._keys = _KeyParser()
        self._recent = ""
        """The last characters outside a paste, which may begin a start marker."""
        self._pasted: list[str] | None = None
        """The parts of the current paste; the last may end with the beginning of an end marker."""
        self._received = 0.0
        """When the last input arrived, by the monotonic clock."""
        self._is_mark_due = False
        """Whether a paste ended without its end marker, which may still arrive."""

    def feed(self, data: str) -> Iterable[Message]:
        """Yield the events of some input; an empty string is the end of input."""
        self._received = monotonic()
        if not data:
            if self._pasted is not None:
                yield self._paste("")
            yield from self._fed("")
        if self._is_mark_due and self._pasted is None and data:
            self._is_mark_due = False
            data = data.removeprefix(_BARE_END)
        while data:
            data = yield from (self._feed_keys(data) if self._pasted is None else self._feed_paste(data))

    def tick(self) -> Iterable[Message]:
        """Yield the events that depend on time: Esc alone, or a paste without an end marker."""
        if self._pasted is not None and monotonic() - self._received >= PASTE_SECONDS:
            paste = self._paste("")
            self._is_mark_due = not paste.text.endswith(_BARE_END)
            yield events.Paste(paste.text.removesuffix(_BARE_END))
        yield from self._keys.tick()

    def _fed(self, data: str) -> Iterable[Message]:
        try:
            yield from self._keys.feed(data)
        except _UNREADABLE:
            # The sequence is dropped; the failed generator cannot continue.
            self._keys = _KeyParser()

    def _feed_keys(self, data: str) -> Generator[Message, None, str]:
        known = self._recent + data
        at = known.find(BRACKETED_PASTE_START)
        if at < 0:
            self._recent = known[-_OVERLAP:]
            yield from self._fed(data)
            return ""
        end = at + len(BRACKETED_PASTE_START) - len(self._recent)
        self._recent = ""
        # The key parser gets an empty paste, so that it does not wait for the rest of a sequence.
        for message in self._fed(data[:end] + BRACKETED_PASTE_END):
            if not isinstance(message, events.Paste):
                yield message
        self._pasted = []
        return data[end:]

    def _feed_paste(self, data: str) -> Generator[Message, None, str]:
        assert self._pasted is not None
        held = self._pasted.pop() if self._pasted else ""
        known = held + data
        at = _closing_mark(known)
        if at < 0:
            self._pasted += [known[:-_OVERLAP], known[-_OVERLAP:]]
            return ""
        yield self._paste(known[:at])
        return known[at + len(BRACKETED_PASTE_END) :]

    def _paste(self, rest: str) -> events.Paste:
        text = "".join([*(self._pasted or ()), rest])
        self._pasted = None
        # Most terminals send pasted line ends as CR; a text with LF was sent unchanged.
        return events.Paste(text if "\n" in text else text.replace("\r", "\n"))


def _closing_mark(text: str) -> int:
    """Return where a paste ends, or -1: at the last end marker before the next paste; texts may hold some."""
    end = text.partition(BRACKETED_PASTE_START)[0].rfind(BRACKETED_PASTE_END)
    return end if end >= 0 else text.rfind(BRACKETED_PASTE_END)


class _KeyParser(XTermParser):
    """Textual's parser, extended by the event types and alternate keys of the kitty protocol.

    The form of a key is `CSI code:shifted:base ; modifiers:event ; text:… final`
    (https://sw.kovidgoyal.net/kitty/keyboard-protocol/).
    """

    def _parse_extended_key(self, sequence: str) -> list[events.Key] | None:  # type: ignore[override]
        found = re.fullmatch(_EXTENDED_KEY, sequence)
        if found is None:
            return super()._parse_extended_key(sequence)
        code, _, alternates = found["code"].partition(":")
        shifted = alternates.partition(":")[0]
        modifiers, _, event = (found["modifiers"] or "").partition(":")
        text = found["text"]
        numbers = [code, shifted, *(text or "").split(":")]
        if event == _RELEASE or not all(map(_is_character, numbers)):
            return [events.Key(Keys.Ignore, sequence)]
        # Shift alone types the shifted key; other modifiers apply to the plain key.
        if not text and shifted and modifiers == "2":
            text = shifted
        fields = [code, modifiers, text] if text else [code, modifiers] if modifiers else [code]
        return super()._parse_extended_key(f"\x1b[{';'.join(fields)}{found['final']}")


def _is_character(number: str) -> bool:
    """Return whether a number is a character's code point, or empty."""
    code = int(number or "0")
    return code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF


_STATUS = 129
"""The exit status of a process ended by a hang-up: 128 + SIGHUP."""
_LAST_SECONDS = 8.0
"""Seconds to close connections before the process is ended by force."""
_TICK_SECONDS = 0.1
_RESET = (
    b"\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"
    b"\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l"
)
"""Turns off bracketed paste, size reports, mouse, keyboard protocol, alternate screen and focus reports."""


def is_suspendable() -> bool:
    """Return whether a shell can resume the process: a session leader has none above it."""
    return os.getpgrp() != os.getsid(0)


def let_go_of_terminal(attributes: list[object] | None) -> None:
    """Restore the terminal, redirect all further output to nowhere, and end the process in eight seconds.

    `attributes` are the terminal's attributes before the application started, None if unknown. Call this
    after everything is saved. Textual's writer thread would end at the first write to a closed terminal, and
    once its queue is full every write blocks forever.
    """
    # Not at the top: this module exists only on POSIX systems.
    import termios

    terminal = os.dup(0) if os.isatty(0) else None
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    if terminal is not None:
        # A closed terminal needs no reset.
        with suppress(OSError, termios.error):
            os.write(terminal, _RESET)
            if attributes is not None:
                termios.tcsetattr(terminal, termios.TCSANOW, attributes)  # type: ignore[arg-type]
        os.close(terminal)
    end_soon(_STATUS)


def end_soon(status: int) -> None:
    """End the process by force in some seconds, as a thread that waits for a disk might never let it end."""
    last = threading.Timer(_LAST_SECONDS, os._exit, (status,))
    last.daemon = True
    last.start()


@cache
def safe_driver(driver: type[Driver]) -> type[Driver]:
    """Return a driver of a POSIX terminal with our input parser and suspending; others are unchanged."""
    if driver.__name__ != "LinuxDriver":
        return driver
    # Not at the top: this module can be imported only on POSIX systems.
    from textual.drivers.linux_driver import LinuxDriver

    class TerminalDriver(LinuxDriver):
        """Textual's driver of a POSIX terminal, with our input parser and our suspending and resuming."""

        def run_input_thread(self) -> None:
            """Read input until the driver stops; invalid UTF-8 becomes U+FFFD."""
            parser = TerminalParser()
            decode = getincrementaldecoder("utf-8")("replace").decode
            with selectors.SelectSelector() as selector:
                selector.register(self.fileno, selectors.EVENT_READ)
                while not self.exit_event.is_set():
                    if selector.select(_TICK_SECONDS):
                        data = os.read(self.fileno, 4096)
                        if not data:
                            # A pipe at its end stays readable.
                            break
                        # An incomplete character decodes to "", which would be the end of input.
                        if text := decode(data):
                            self._process(parser.feed(text))
                    self._process(parser.tick())

        _is_lent = False
        """Whether another program has the terminal."""

        def suspend_application_mode(self) -> None:
            """Hand the terminal over, and drop what is drawn until it is back."""
            super().suspend_application_mode()
            self._is_lent = True

        def start_application_mode(self) -> None:
            """Take the terminal, at the start or when it is back."""
            self._is_lent = False
            super().start_application_mode()  # type: ignore[no-untyped-call]

        def write(self, data: str) -> None:
            """Write to the terminal, and let frames wait until a slow connection has carried it."""
            if self._is_lent:
                return
            pace_of(self._app).note(len(data.encode(errors="replace")), monotonic())
            super().write(data)

        def _process(self, messages: Iterable[Message]) -> None:
            for message in messages:
                self.process_message(message)

        def _sigtstp_application(self, *_: object) -> None:
            if self._auto_restart:
                self.suspend_application_mode()
                self._must_signal_resume = True
            # The whole process group: the shell waits for all of it, including a launcher such as `uv run`.
            os.killpg(0, signal.SIGSTOP)

        def _sigcont_application(self, *_: object) -> None:
            """Resume application mode if there is still a terminal.

            The kernel sends SIGCONT with a hang-up too. After SIGSTOP the driver is still in application
            mode, and has to leave it first, or its threads would be started twice.
            """
            if not self._auto_restart or not os.isatty(self.fileno):
                return
            if not self._must_signal_resume:
                self.suspend_application_mode()
                self._must_signal_resume = True
            self.resume_application_mode()

    return TerminalDriver


MOST = 700_000
"""Bytes above which terminals and multiplexers ignore a copied text; Base64 adds a third to its size."""

_SHOWN = 24
"""Characters up to which a copied text is shown in full."""


async def copy_through_tmux(raw: bytes, environment: Mapping[str, str]) -> bool:
    """Put text into tmux's buffer and its terminal's clipboard; return whether tmux accepted it.

    By default (`set-clipboard external`) tmux ignores OSC 52 from programs within it, but sends its own.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *("tmux", "load-buffer", "-w", "-"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env=dict(environment),
        )
        await process.communicate(raw)
    except OSError:
        return False
    return process.returncode == 0


def copied(text: str, *, is_too_long: bool = False, tmux: bool | None = None) -> str:
    """Return the message for copied text; `tmux` is whether tmux accepted it, None without tmux."""
    amount = f'Copied "{visible(text)}"' if len(text) <= _SHOWN else f"Copied {len(text):,} characters"
    if is_too_long:
        return f"{amount}, for pasting here only: a terminal's clipboard does not take so much."
    return f"{amount}; tmux passes it on only with `set-clipboard on`." if tmux is False else amount
