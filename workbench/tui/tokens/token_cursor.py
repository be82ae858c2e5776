"""Where a token cursor goes: by token, by line, to what is notable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from workbench.domain.choice import Choice
from workbench.tui.tokens.token_rows import offset_at, row_cells
from workbench.tui.tokens.transcript import BODY, ReadingPosition, Transcript

Finder = Callable[[Choice, int, int], int | None]
"""From a choice, a position and a step (1 or -1) to the next position wanted."""
_FAR = 400
"""Rows looked through for another token before a line's move gives up (a token may fill many)."""


class Cursor(NamedTuple):
    """A token of a section."""

    section: int
    position: int


def at(transcript: Transcript, key: str, position: int) -> Cursor:
    """The token at a position of the section of that key. Raises KeyError where there is none."""
    index = transcript.index_of(key)
    if not 0 <= position < transcript.body(index).seen:
        raise KeyError(key)
    return Cursor(index, position)


def first(transcript: Transcript) -> Cursor | None:
    """The first token of all."""
    return next((Cursor(index, 0) for index in range(len(transcript)) if transcript.body(index).seen), None)


def last(transcript: Transcript) -> Cursor | None:
    """The last token of all."""
    for index in reversed(range(len(transcript))):
        if seen := transcript.body(index).seen:
            return Cursor(index, seen - 1)
    return None


def notable(transcript: Transcript, finder: Finder) -> Cursor | None:
    """The first token of the newest answer that a finder wants, else that answer's first token."""
    for index in reversed(range(len(transcript))):
        body = transcript.body(index)
        if body.choice is not None and body.seen:
            found = finder(body.choice, body.choice.echoed - 1, 1)
            is_seen = found is not None and found < body.seen
            first = min(body.choice.echoed, body.seen - 1)
            return Cursor(index, found if found is not None and is_seen else first)
    return None


def adjacent(choice: Choice, position: int, step: int) -> int | None:
    """The position after (step 1) or before (-1); None beyond the choice."""
    return position + step if 0 <= position + step < len(choice) else None


def seek(transcript: Transcript, cursor: Cursor, step: int, finder: Finder) -> Cursor | None:
    """The next token that a finder wants, in this section and then the following ones."""
    index, position = cursor
    while 0 <= index < len(transcript):
        body = transcript.body(index)
        if body.choice is not None and body.seen:
            found = finder(body.choice, position, step)
            if found is not None and found < body.seen:
                return Cursor(index, found)
        index += step
        if 0 <= index < len(transcript):
            position = -1 if step > 0 else transcript.body(index).seen
    return None


def column_of(transcript: Transcript, cursor: Cursor) -> int:
    """The column that a token begins at."""
    body, y = transcript.body(cursor.section), y_of(transcript, cursor)
    row = transcript.row(y)
    start = body.span_of(cursor.position)[0]
    return row_cells(body.slice(row.start, start), transcript.width) if row else 0


def y_of(transcript: Transcript, cursor: Cursor) -> int:
    """The row that a token begins in."""
    start = transcript.body(cursor.section).span_of(cursor.position)[0]
    return transcript.y_of(ReadingPosition(cursor.section, BODY, start))


def token_at(transcript: Transcript, y: int, column: int) -> Cursor | None:
    """The token at a cell of the transcript; None where none is."""
    row = transcript.row(y)
    if row is None or row.block != BODY:
        return None
    body = transcript.body(row.section)
    offset = row.start + offset_at(body.slice(row.start, row.end), column, transcript.width)
    if body.tail and row.end == body.length:
        used = 0 if row.start == row.end else row_cells(body.slice(row.start, row.end), transcript.width)
        if column >= used:
            return Cursor(row.section, _of_tail(transcript, row.section, column - used))
    position = body.token_at(offset)
    return None if position is None else Cursor(row.section, position)


def _of_tail(transcript: Transcript, section: int, column: int) -> int:
    body = transcript.body(section)
    for index in body.tail:
        column -= len(body.tail_text(index))
        if column < 0:
            return index
    return body.tail[-1]


def line(transcript: Transcript, cursor: Cursor, rows: int, column: int) -> Cursor | None:
    """The token some rows below (above where negative) at a column; the next row that has another token."""
    step = 1 if rows > 0 else -1
    begin = y_of(transcript, cursor) + rows
    for y in _rows_from(max(min(begin, transcript.height - 1), 0), step, transcript.height):
        found = _on_row(transcript, y, column)
        if found is not None and (found > cursor if step > 0 else found < cursor):
            return found
    return None


def _rows_from(y: int, step: int, height: int) -> Iterator[int]:
    for _ in range(_FAR):
        if not 0 <= y < height:
            return
        yield y
        y += step


def _on_row(transcript: Transcript, y: int, column: int) -> Cursor | None:
    """The token at a column of a row; where the prompt stands there, the first one after it."""
    row = transcript.row(y)
    if row is None or row.block != BODY:
        return None
    found = token_at(transcript, y, column)
    body = transcript.body(row.section)
    if found is None and body.seen and row.start <= len(body.prompt) < row.end:
        return Cursor(row.section, body.token_at(len(body.prompt)) or 0)
    return found
