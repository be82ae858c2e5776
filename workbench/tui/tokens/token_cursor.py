"""Movements of the token cursor: by token, by line, and to notable tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from workbench.domain.choice import Choice
from workbench.tui.tokens.token_rows import offset_at, row_cells
from workbench.tui.tokens.transcript import BODY, ReadingPosition, Transcript

Finder = Callable[[Choice, int, int], int | None]
"""Returns the next position to stop at, from a choice, a position in it and a step (1 or -1)."""
_FAR = 400
"""The most rows that a movement by line searches for another token, as a token may fill many rows."""


class Cursor(NamedTuple):
    """A token of a section."""

    section: int
    position: int


def at(transcript: Transcript, key: str, position: int) -> Cursor:
    """Return the token at a position of a section. Raises KeyError if there is none."""
    index = transcript.index_of(key)
    if not 0 <= position < transcript.body(index).seen:
        raise KeyError(key)
    return Cursor(index, position)


def first(transcript: Transcript) -> Cursor | None:
    """Return the first token of the transcript."""
    return next((Cursor(index, 0) for index in range(len(transcript)) if transcript.body(index).seen), None)


def last(transcript: Transcript) -> Cursor | None:
    """Return the last token of the transcript."""
    indices = reversed(range(len(transcript)))
    return next((Cursor(index, seen - 1) for index in indices if (seen := transcript.body(index).seen)), None)


def notable(transcript: Transcript, finder: Finder) -> Cursor | None:
    """Return the first token of the newest answer that a finder stops at, else its first token."""
    for index in reversed(range(len(transcript))):
        body = transcript.body(index)
        if body.choice is not None and body.seen:
            found = finder(body.choice, body.choice.echoed - 1, 1)
            if found is None or found >= body.seen:
                found = min(body.choice.echoed, body.seen - 1)
            return Cursor(index, found)
    return None


def adjacent(choice: Choice, position: int, step: int) -> int | None:
    """Return the position after (step 1) or before (-1); None beyond the choice."""
    return position + step if 0 <= position + step < len(choice) else None


def seek(transcript: Transcript, cursor: Cursor, step: int, finder: Finder) -> Cursor | None:
    """Return the next token that a finder stops at, in this section or the following ones."""
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
    """Return the column in which a token starts."""
    body, y = transcript.body(cursor.section), y_of(transcript, cursor)
    row = transcript.row(y)
    start = body.span_of(cursor.position)[0]
    return row_cells(body.slice(row.start, start), transcript.width) if row else 0


def y_of(transcript: Transcript, cursor: Cursor) -> int:
    """Return the row in which a token starts."""
    start = transcript.body(cursor.section).span_of(cursor.position)[0]
    return transcript.y_of(ReadingPosition(cursor.section, BODY, start))


def token_at(transcript: Transcript, y: int, column: int) -> Cursor | None:
    """Return the token at a cell of the transcript, or None."""
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
    """Return the token at a column, `rows` below (above if negative) or in the next row that has one."""
    first = max(min(y_of(transcript, cursor) + rows, transcript.height - 1), 0)
    for y in (range(first, transcript.height) if rows > 0 else range(first, -1, -1))[:_FAR]:
        found = _on_row(transcript, y, column)
        if found is not None and (found > cursor if rows > 0 else found < cursor):
            return found
    return None


def _on_row(transcript: Transcript, y: int, column: int) -> Cursor | None:
    """Return the token at a column of a row; for the prompt, the first token after it if in this row."""
    row = transcript.row(y)
    if row is None or row.block != BODY:
        return None
    found = token_at(transcript, y, column)
    body = transcript.body(row.section)
    if found is None and body.seen and row.start <= len(body.prompt) < row.end:
        return Cursor(row.section, body.token_at(len(body.prompt)) or 0)
    return found
