"""Pastes as the terminal sends them: text to the last character, never keys.

Textual's parser looks for keys within a bracketed paste, so that an escape sequence in a pasted text presses
keys and is lost from the text.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable

from textual import events
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.driver import Driver
from textual.message import Message

_OVERLAP = len(BRACKETED_PASTE_START) - 1


class PasteParser(XTermParser):
    """Textual's parser of terminal input, with pastes taken out before it looks for keys in them."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._recent = ""
        """The last characters outside a paste, which may be the beginning of a paste's mark."""
        self._pasted: list[str] | None = None
        """The paste so far; its last part may end with the beginning of the closing mark."""

    def feed(self, data: str) -> Iterable[Message]:
        """What a piece of input means; an empty one is the end of input."""
        if not data:
            if self._pasted is not None:
                yield self._paste("")
            yield from super().feed(data)
        while data:
            data = yield from (self._feed_keys(data) if self._pasted is None else self._feed_paste(data))

    def _feed_keys(self, data: str) -> Generator[Message, None, str]:
        known = self._recent + data
        at = known.find(BRACKETED_PASTE_START)
        if at < 0:
            self._recent = known[-_OVERLAP:]
            yield from super().feed(data)
            return ""
        end = at + len(BRACKETED_PASTE_START) - len(self._recent)
        self._recent = ""
        yield from super().feed(data[:end])
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
        # The base parser is inside the paste too: it leaves it by the mark, and its own paste is empty.
        for message in super().feed(BRACKETED_PASTE_END):
            if not isinstance(message, events.Paste):
                yield message
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


def with_exact_pastes(driver: type[Driver]) -> type[Driver]:
    """Make a driver read pastes exactly; one that does not read a terminal is left as it is."""
    module = sys.modules[driver.__module__]
    if hasattr(module, "XTermParser"):
        # Drivers make their parser in a thread of their own and leave no other way in.
        setattr(module, "XTermParser", PasteParser)  # noqa: B010
    return driver
