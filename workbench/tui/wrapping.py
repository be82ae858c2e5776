"""Wraps an editor's lines as Textual does, fast enough for a megabyte in one line."""

from __future__ import annotations

import re
import sys
from itertools import repeat

from textual._wrap import compute_wrap_offsets
from textual.document._document import Location
from textual.document._wrapped_document import WrappedDocument
from textual.expand_tabs import get_tab_widths
from textual.geometry import Offset

_ONE_CELL_EACH = re.compile(
    "[ -~\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0377\u0391-\u0482\u048a-\u052f\u2010-\u2027\u2400-\u2426]*"
)
_NO_BREAKS: list[int] = []
_NO_TABS: list[int] = [0]
_LAST_WORD = re.compile(r".*\s(?=\S)", re.DOTALL)


def wrap_offsets(line: str, width: int, tab_width: int, sections: list[tuple[str, int]]) -> list[int]:
    """Where a line breaks to fit `width` cells; the same places as Textual's own function finds."""
    if not width:
        return []
    if not _ONE_CELL_EACH.fullmatch(line):
        return compute_wrap_offsets(line, width, tab_width, precomputed_tab_sections=sections)
    offsets: list[int] = []
    start, last = 0, len(line) - width
    while start < last:
        end = start + width
        blank = line.rfind(" ", start, end)
        if blank < 0:
            start = end
        elif line[blank + 1] != " ":
            start = blank + 1
        else:
            # The row ends within blanks, which stay with their word.
            word = _LAST_WORD.match(line, start, end + 1)
            start = word.end() if word else end
        offsets.append(start)
    return offsets


class FastWrappedDocument(WrappedDocument):
    """Textual's view of a wrapped document, measured with less work a line."""

    _sections: tuple[str, list[int], list[str]] = ("", [], [""])
    """The rows of the line asked for last, with what they were made of."""

    def wrap(self, width: int, tab_width: int | None = None) -> None:
        """Wrap every line; width 0 wraps none."""
        self._width = width
        if tab_width:
            self._tab_width = tab_width
        self._wrap_offsets, self._tab_width_cache = self._measure(self.document.lines)
        self._count_rows()

    def wrap_range(self, start: Location, old_end: Location, new_end: Location) -> None:
        """Wrap the lines that an edit touched, after the edit."""
        last_old, last_new = len(self._wrap_offsets) - 1, self.document.line_count - 1
        first = min(start[0], old_end[0], last_old, last_new)
        old = min(max(start[0], old_end[0]), last_old)
        new = min(max(start[0], new_end[0]), last_new)
        lines = [self.document.get_line(index) for index in range(first, new + 1)]
        offsets, tabs = self._measure(lines)
        self._wrap_offsets[first : old + 1] = offsets
        self._tab_width_cache[first : old + 1] = tabs
        self._count_rows()

    @property
    def height(self) -> int:
        """How many rows there are."""
        return len(self._offset_to_line_info)

    def location_to_offset(self, location: Location) -> Offset:
        """Where a place in the text is on screen; beyond the text it is the nearest one.

        In the middle of an undo Textual asks for the cursor's old place, which may be gone.
        """
        line = max(min(location[0], len(self._wrap_offsets) - 1), 0)
        return super().location_to_offset((line, location[1]))

    def get_sections(self, line_index: int) -> list[str]:
        """The rows that a line is divided into."""
        line, offsets = self.document.get_line(line_index), self.get_offsets(line_index)
        if self._sections[0] is not line or self._sections[1] is not offsets:
            ends = [*offsets, len(line)]
            self._sections = (line, offsets, [line[a:b] for a, b in zip([0, *offsets], ends, strict=True)])
        return self._sections[2]

    def _measure(self, lines: list[str]) -> tuple[list[list[int]], list[list[int]]]:
        offsets: list[list[int]] = []
        tabs: list[list[int]] = []
        width = self._width or sys.maxsize
        for line in lines:
            if len(line) <= width and line.isascii() and line.isprintable():
                offsets.append(_NO_BREAKS)
                tabs.append(_NO_TABS)
                continue
            sections = get_tab_widths(line, self._tab_width) if "\t" in line else [(line, 0)]
            offsets.append(wrap_offsets(line, self._width, self._tab_width, sections))
            tabs.append([width for _, width in sections])
        return offsets, tabs

    def _count_rows(self) -> None:
        infos: list[tuple[int, int]] = []
        rows: list[list[int]] = []
        for index, offsets in enumerate(self._wrap_offsets):
            if not offsets:
                rows.append([len(infos)])
                infos.append((index, 0))
                continue
            count = len(offsets) + 1
            rows.append(list(range(len(infos), len(infos) + count)))
            infos.extend(zip(repeat(index, count), range(count), strict=True))
        self._offset_to_line_info = infos
        self._line_index_to_offsets = rows
