"""The terminal under the application: reading it, stopping, resuming and hanging up, and its clipboard."""

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
"""A paste without its end mark ends after so long without input."""
_OVERLAP = len(BRACKETED_PASTE_START) - 1
_BARE_END = BRACKETED_PASTE_END[1:]
"""An end mark that lost its ESC on the way."""
_EXTENDED_KEY = (
    r"\x1b\[(?P<code>[\d:]*)(?:;(?P<modifiers>[\d:]*))?(?:;(?P<text>[\d:]*))?(?P<final>[u~ABCDEFHPQRS])"
)
_RELEASE = "3"
"""The kitty protocol's event type of a key that is let go."""
_UNREADABLE = (ValueError, ArithmeticError, LookupError, TypeError)
"""What Textual's parser raises for sequences it was not written for, such as a window of zero cells."""


class TerminalParser:
    """A parser of terminal input; use `feed()` for what was read, and `tick()` at least every 0.1 seconds."""

    def __init__(self) -> None:
        self._keys = _KeyParser()
        self._recent = ""
        """The last characters outside a paste, which may be the beginning of a paste's mark."""
        self._pasted: list[str] | None = None
        """The paste so far; its last part may end with the beginning of the closing mark."""
        self._received = 0.0
        """When the last input came, by the monotonic clock."""
        self._is_mark_due = False
        """Whether a paste was ended without its mark, which may still come."""

    def feed(self, data: str) -> Iterable[Message]:
        """What a piece of input means; an empty one is the end of input."""
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
        """What the time that passed means: Esc alone, or the end of a paste that lost its mark."""
        if self._pasted is not None and monotonic() - self._received >= PASTE_SECONDS:
            paste = self._paste("")
            self._is_mark_due = not paste.text.endswith(_BARE_END)
            yield events.Paste(paste.text.removesuffix(_BARE_END))
        yield from self._keys.tick()

    def _fed(self, data: str) -> Iterable[Message]:
        try:
            yield from self._keys.feed(data)
        except _UNREADABLE:
            # The sequence is dropped; the generator that failed cannot go on.
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
        # The key parser sees an empty paste: it must not wait for the rest of a sequence.
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
        # Most terminals send a pasted line end as the key that types one; a text with LF was left alone.
        return events.Paste(text if "\n" in text else text.replace("\r", "\n"))


def _closing_mark(text: str) -> int:
    """Where a paste ends: at the last mark before another paste begins, as a pasted text may hold marks."""
    begin = text.find(BRACKETED_PASTE_START)
    if begin >= 0 and text.rfind(BRACKETED_PASTE_END, 0, begin) < 0:
        begin = -1
    return text.rfind(BRACKETED_PASTE_END, 0, begin if begin >= 0 else len(text))


class _KeyParser(XTermParser):
    """Textual's parser, which reads the kitty protocol's event types and alternate keys as well.

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
        # Shift alone types the shifted key; with others it is the plain key that they change.
        if not text and shifted and modifiers == "2":
            text = shifted
        fields = [code, modifiers, text] if text else [code, modifiers] if modifiers else [code]
        return super()._parse_extended_key(f"\x1b[{';'.join(fields)}{found['final']}")


def _is_character(number: str) -> bool:
    """Whether a number is a character's, or is not given."""
    code = int(number or "0")
    return code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF


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

        def write(self, data: str) -> None:
            """Write to the terminal; frames wait until a slow line has carried it."""
            pace_of(self._app).note(len(data.encode(errors="replace")), monotonic())
            super().write(data)

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


MOST = 700_000
"""Bytes above which terminals and multiplexers drop what is to be copied, as Base64 makes a third more."""

_SHOWN = 24
"""Characters up to which a text is shown as it was copied."""


async def copy_through_tmux(raw: bytes, environment: Mapping[str, str]) -> bool:
    """Put text into tmux's buffer, and by that into its terminal's clipboard; whether tmux took it.

    By default tmux takes no OSC 52 from the programs in it (`set-clipboard external`), but sends its own.
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
    """What to say of copied text; `tmux` is whether tmux took it, None where there is none."""
    amount = f'Copied "{visible(text)}"' if len(text) <= _SHOWN else f"Copied {len(text):,} characters"
    if is_too_long:
        return f"{amount}, for pasting here only: a terminal's clipboard does not take so much."
    return f"{amount}; tmux passes it on only with `set-clipboard on`." if tmux is False else amount
