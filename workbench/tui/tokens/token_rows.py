"""Soft wrap of growing hostile text into rows of cells, resumable at the last rows.

A row ends after its last space, where even one space more than fits may stand in the last column; so the
last column is kept free of everything else.
"""

from __future__ import annotations

import re
from array import array
from typing import NamedTuple, Protocol

from rich.cells import cell_len, get_character_cell_size

from workbench.domain.display import escape_character, is_control

TEXT, SPACE, TAB, CONTROL, NEWLINE = range(5)
"""Kinds of clusters: CONTROL is one that is shown as an escape."""
TAB_SIZE = 4
_CLUSTER_LIMIT = 16
"""Code points in a cluster at most: a pile of marks beyond that is shown as escapes."""
_CHUNK = 4096
_JOINER = "\u200d"
_NARROW = "[ -~\u00a1-\u02ff\u2010-\u2027\u2030-\u205e\u2190-\u21ff\u2500-\u25fc]*"
"""Latin letters, quotation marks and dashes, arrows, and what frames are drawn with."""
_LATIN_END = "\u02ff"
_UNSETTLED = 3
"""Rows at the end of a growing text that may still change."""


class Cluster(NamedTuple):
    """What the reader sees as one character."""

    start: int
    end: int
    cells: int
    """Its width; of a tab 0, as that depends on the column."""
    kind: int


class Source(Protocol):
    """A text that is read in parts."""

    @property
    def length(self) -> int:
        """Its characters so far."""

    def slice(self, start: int, stop: int) -> str:
        """A part of it."""


def clusters(text: str) -> list[Cluster]:
    """Text as clusters; each of them is at least one cell wide but for newlines and tabs."""
    found: list[Cluster] = []
    index, length = 0, len(text)
    while index < length:
        character = text[index]
        if character == "\n":
            found.append(Cluster(index, index + 1, 0, NEWLINE))
        elif character == "\t":
            found.append(Cluster(index, index + 1, 0, TAB))
        elif is_control(character) or not get_character_cell_size(character):
            found.append(Cluster(index, index + 1, len(escape_character(character)), CONTROL))
        else:
            end = _cluster_end(text, index)
            plain = end == index + 1
            cells = get_character_cell_size(character) if plain else cell_len(text[index:end])
            found.append(Cluster(index, end, cells, SPACE if plain and character == " " else TEXT))
        index = found[-1].end
    return found


def _cluster_end(text: str, start: int) -> int:
    end, length = start + 1, min(len(text), start + _CLUSTER_LIMIT)
    if _is_flag_half(text[start]) and end < length and _is_flag_half(text[end]):
        end += 1
    while end < length:
        character = text[end]
        if character == _JOINER:
            if not (end + 1 < length and text[end - 1] > _LATIN_END and _joins(text[end + 1])):
                break
            end += 2
        elif is_control(character) or character in "\n\t":
            break
        elif get_character_cell_size(character) == 0 or "\U0001f3fb" <= character <= "\U0001f3ff":
            end += 1
        else:
            break
    return end


def _joins(character: str) -> bool:
    return character > _LATIN_END and not is_control(character)


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def tab_cells(column: int, width: int) -> int:
    """How many cells a tab takes at a column of a row."""
    return max(min(TAB_SIZE - column % TAB_SIZE, width - column), 0)


def row_cells(text: str, width: int) -> int:
    """How many cells the text of one row takes."""
    column = 0
    for _, _, cells, kind in clusters(text):
        column += tab_cells(column, width) if kind == TAB else cells
    return column


def offset_at(text: str, column: int, width: int) -> int:
    """Which character of a row's text stands at a column; the last one beyond the end."""
    at = 0
    for start, _, cells, kind in clusters(text):
        at += tab_cells(at, width) if kind == TAB else cells
        if at > column:
            return start
    return max(len(text) - 1, 0)


def is_narrow(text: str) -> bool:
    """Whether each character of a text is a cluster of one cell: quick to tell, and true of most prose."""
    return text.isprintable() and (text.isascii() or re.fullmatch(_NARROW, text) is not None)


def row_starts(text: str, width: int) -> list[int]:
    """Offsets at which the rows of a text begin; the first is 0."""
    starts = [0]
    begin = 0
    while True:
        newline = text.find("\n", begin)
        end = len(text) if newline < 0 else newline
        line = text[begin:end]
        if is_narrow(line):
            _wrap_narrow(line, width, begin, starts)
        else:
            _wrap_clusters(line, width, begin, starts)
        if newline < 0:
            return starts
        begin = newline + 1
        starts.append(begin)


def _wrap_narrow(line: str, width: int, base: int, starts: list[int]) -> None:
    limit, row, length = max(width - 1, 1), 0, len(line)
    while length - row > limit:
        end = row + limit
        if line[end] == " ":
            row = end + 1
            if row >= length:
                return
        else:
            row = line.rfind(" ", row, end) + 1 or end
        starts.append(base + row)


def _wrap_clusters(line: str, width: int, base: int, starts: list[int]) -> None:
    parts = clusters(line)
    limit = max(width - 1, 1)
    row = index = gap = column = 0
    while index < len(parts):
        _, _, cells, kind = parts[index]
        if kind == TAB:
            cells = tab_cells(column, width)
            fits = column < width
        else:
            fits = column + cells <= (limit + 1 if kind == SPACE else limit)
        if not fits and index > row:
            row = index = gap if gap > row else index
            starts.append(base + parts[row].start)
            column, gap = 0, row
            continue
        column += cells
        index += 1
        if kind in (SPACE, TAB):
            gap = index


class Rows:
    """Where the rows of a growing text begin, for one width.

    Rows are complete but for the last three, which may change as more text comes: the end of a row depends
    on the cluster that no longer fit, and that may still grow. While it ends in a joiner, which alone is
    shown as an escape, it may have begun two rows that its next character makes one.
    """

    __slots__ = ("starts", "width", "wrapped")

    def __init__(self, width: int) -> None:
        self.width = width
        self.starts = array("I", [0])
        self.wrapped = 0
        """Characters of the text that were taken into account."""

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def settled(self) -> int:
        """How many rows at the beginning no further text can change."""
        return max(len(self.starts) - _UNSETTLED, 0)

    def assume(self, offset: int) -> None:
        """Cut everything before `offset` by count alone, until somebody has the time to wrap it."""
        self.starts = array("I", range(0, offset, max(self.width - 1, 1)))
        self.starts.append(offset)
        self.wrapped = offset

    def advance(self, source: Source, limit: int) -> bool:
        """Wrap about `limit` characters more; whether that was all there is. Costs nothing beyond."""
        starts, length = self.starts, source.length
        if self.wrapped >= length:
            return True
        goal = min(self.wrapped + max(limit, 1), length)
        while self.wrapped < goal:
            del starts[self.settled + 1 :]
            self._wrap_from(starts[-1], source)
        return self.wrapped >= length

    def _wrap_from(self, first: int, source: Source) -> None:
        size = max(_CHUNK, 8 * _CLUSTER_LIMIT * self.width)
        while True:
            end = min(first + size, source.length)
            found = row_starts(source.slice(first, end), self.width)
            if end == source.length or len(found) > _UNSETTLED:
                break
            size *= 2
        self.starts.extend([first + start for start in found[1:]])
        self.wrapped = end
