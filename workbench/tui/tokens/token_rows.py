"""Wrap growing, untrusted text into rows of terminal cells, incrementally.

A row breaks after a space. One space that no longer fits may take the last column, which therefore holds
nothing else.
"""

from __future__ import annotations

import re
from array import array
from typing import NamedTuple, Protocol

from rich.cells import cell_len, get_character_cell_size

from workbench.domain.display import escape_character, is_control

TEXT, SPACE, TAB, CONTROL, NEWLINE = range(5)
"""Kinds of clusters; CONTROL is shown as an escape."""
TAB_SIZE = 4
_CLUSTER_LIMIT = 16
"""The most code points in a cluster; further combining marks are shown as escapes."""
_CHUNK = 4096
_JOINER = "\u200d"
_NARROW = "[ -~\u00a1-\u02ff\u2010-\u2027\u2030-\u205e\u2190-\u21ff\u2500-\u25fc]*"
"""Latin letters, quotation marks, dashes, arrows and box drawing."""
_LATIN_END = "\u02ff"
_UNSETTLED = 3
"""The number of rows at the end that more text may change."""


class Cluster(NamedTuple):
    """A user-perceived character of a text."""

    start: int
    end: int
    cells: int
    """Its width; 0 for a tab, whose width depends on the column."""
    kind: int


class Source(Protocol):
    """A growing text that is read in slices."""

    @property
    def length(self) -> int:
        """The number of characters so far."""

    def slice(self, start: int, stop: int) -> str:
        """Return the characters from `start` up to `stop`."""


def clusters(text: str) -> list[Cluster]:
    """Split a text into clusters, each at least one cell wide except newlines and tabs."""
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
    """Return the cells that a tab takes at a column of a row `width` cells wide."""
    return max(min(TAB_SIZE - column % TAB_SIZE, width - column), 0)


def row_cells(text: str, width: int) -> int:
    """Return the cells that the text of a row `width` cells wide takes."""
    column = 0
    for _, _, cells, kind in clusters(text):
        column += tab_cells(column, width) if kind == TAB else cells
    return column


def offset_at(text: str, column: int, width: int) -> int:
    """Return the index of the character at a column of a row's text; past the end, of the last one."""
    at = 0
    for start, _, cells, kind in clusters(text):
        at += tab_cells(at, width) if kind == TAB else cells
        if at > column:
            return start
    return max(len(text) - 1, 0)


def is_narrow(text: str) -> bool:
    """Return whether every character is known to be one cell wide: a fast check that most prose passes."""
    return text.isprintable() and (text.isascii() or re.fullmatch(_NARROW, text) is not None)


def row_starts(text: str, width: int) -> list[int]:
    """Return the offsets at which the rows of a text start; the first is 0."""
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
    """The offsets at which the rows of a growing text start, for one width.

    More text may change the last three rows: where a row ends depends on the cluster after it, which may
    still grow. A joiner at the end is shown as an escape, and may have started two rows that the next
    character joins into one.
    """

    __slots__ = ("starts", "width", "wrapped")

    def __init__(self, width: int) -> None:
        self.width = width
        self.starts = array("I", [0])
        self.wrapped = 0
        """The number of characters wrapped so far."""

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def settled(self) -> int:
        """The number of leading rows that more text cannot change."""
        return max(len(self.starts) - _UNSETTLED, 0)

    def assume(self, offset: int) -> None:
        """Break everything before `offset` into rows of equal length, as a stand-in for wrapping it."""
        self.starts = array("I", range(0, offset, max(self.width - 1, 1)))
        self.starts.append(offset)
        self.wrapped = offset

    def advance(self, source: Source, limit: int) -> bool:
        """Wrap about `limit` more characters; return whether all of the text is wrapped."""
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
