"""Selections in a transcript: a line is a block of a section, a column a character of its text."""

from __future__ import annotations

from textual.geometry import Offset
from textual.selection import Selection

from workbench.tui.tokens.row_painter import snapped
from workbench.tui.tokens.token_cursor import Cursor
from workbench.tui.tokens.transcript import BODY, ReadingPosition, Row, Transcript


def selected_text(transcript: Transcript, selection: Selection) -> str:
    """Return the exact text of a selection, widened to whole clusters."""
    parts = []
    for line in range(3 * len(transcript)):
        section, block = divmod(line, 3)
        source, span = transcript.source(section, block), selection.get_span(line)
        if span is not None and source.length:
            end = source.length if span[1] < 0 else min(span[1], source.length)
            start = min(span[0], end)
            for offset in (start, end):
                row = transcript.row(transcript.y_of(ReadingPosition(section, block, offset)))
                if row is not None:
                    start, end = snapped(source.slice(row.start, row.end), row.start, start, end)
            parts.append(source.slice(start, end))
    return "\n".join(parts)


def selected_span(selection: Selection, row: Row) -> tuple[int, int] | None:
    """Return the selected offsets of the block that a row is in; None if nothing in it is selected."""
    span = selection.get_span(row.section * 3 + row.block)
    return None if span is None else (span[0], row.end if span[1] < 0 else span[1])


def select_tokens(transcript: Transcript, first: Cursor, last: Cursor) -> Selection:
    """Return the selection from a token to another, both included."""
    start = transcript.body(first.section).span_of(first.position)[0]
    end = transcript.body(last.section).span_of(last.position)[1]
    return Selection(Offset(start, first.section * 3 + BODY), Offset(end, last.section * 3 + BODY))
