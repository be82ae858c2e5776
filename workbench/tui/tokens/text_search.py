"""Search the answers of a transcript for a text, ignoring case."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator

from msgspec import Struct

from workbench.tui.tokens.token_cursor import Cursor
from workbench.tui.tokens.transcript import Body, Transcript

_WINDOW = 1 << 16
"""Characters searched before other tasks of the event loop get a turn."""


class Search(Struct, frozen=True):
    """A text to search for."""

    text: str
    """The text, at least one character."""

    @property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(re.escape(self.text), re.IGNORECASE)

    def matches(self, body: Body, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the spans of the matches that overlap a range of a body."""
        over = len(self.text) - 1
        first = max(start - over, 0)
        for match in self._pattern.finditer(body.slice(first, min(end + over, body.length))):
            yield first + match.start(), first + match.end()

    async def next_from(self, transcript: Transcript, cursor: Cursor | None, step: int) -> Cursor | None:
        """Return the token in which the next (step 1) or previous (-1) match starts, wrapping around.

        Other tasks of the event loop run in between, however long the texts are.
        """
        index, position = cursor or (0 if step > 0 else len(transcript) - 1, None)
        count = len(transcript)
        for turn in range(count + 1):
            if not 0 <= index < len(transcript):
                # The sections changed meanwhile.
                return None
            body = transcript.body(index)
            start, stop = body.length, 0
            if turn == 0 and position is not None and body.seen > position:
                start, stop = body.span_of(position)
            edge = len(body.prompt)
            within = (max(edge, stop), body.length) if step > 0 else (edge, start)
            if (found := await self._token_in(body, within, step)) is not None:
                return Cursor(index, found)
            index = (index + step) % count
        return None

    async def _token_in(self, body: Body, within: tuple[int, int], step: int) -> int | None:
        """Return the token of the first match that starts within a range; of the last one if backward."""
        starts = range(*within, _WINDOW)
        for start in starts if step > 0 else reversed(starts):
            stop = min(start + _WINDOW, within[1])
            text = body.slice(start, min(stop + len(self.text) - 1, body.length))
            matches = (
                found.start() for found in self._pattern.finditer(text) if found.start() < stop - start
            )
            offset = next(matches, None) if step > 0 else max(matches, default=None)
            if offset is not None:
                return body.token_at(start + offset)
            await asyncio.sleep(0)
        return None
