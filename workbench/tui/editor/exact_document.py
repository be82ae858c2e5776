"""A text area's document that keeps every character, and its wrapping; only LF ends a line."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import cast

from rich.cells import get_character_cell_size
from textual._wrap import compute_wrap_offsets
from textual.document._document import Newline
from textual.expand_tabs import get_tab_widths
from textual.geometry import Offset
from textual.widgets.text_area import Document, EditResult, Location, WrappedDocument

from workbench.domain.display import is_control

_JOINER = "\u200d"
_NAMED = {"\x7f": "␡", "\x85": "␤", "\u2028": "␤", "\u2029": "␤"}
_OTHER = "◌"
_LONG = 2000
"""Characters from which it is worth caching how a line is shown."""


class ExactDocument(Document):
    """A document that returns its text exactly as it was set.

    Textual's `Document` also splits lines at CR, FF, VT, NEL, U+2028 and others, and replaces all line ends
    by one kind.
    """

    def __init__(self, text: str) -> None:
        self._newline: Newline = "\n"
        self._lines: list[str] = text.split("\n")
        self._text: str | None = text

    @property
    def text(self) -> str:
        """The whole text; cached until the next change, as it is read several times after each."""
        if self._text is None:
            self._text = "\n".join(self._lines)
        return self._text

    def replace_range(self, start: Location, end: Location, text: str) -> EditResult:
        """Replace a range; every change of the text is made here."""
        (top, left), (bottom, right) = sorted((start, end))
        lines = self._lines
        replaced = self.get_text_range((top, left), (bottom, right))
        before = lines[top][:left] if top < len(lines) else ""
        after = lines[bottom][right:] if bottom < len(lines) else ""
        inserted = text.split("\n")
        inserted[0] = before + inserted[0]
        column = len(inserted[-1])
        inserted[-1] += after
        lines[top : bottom + 1] = inserted
        self._text = None
        return EditResult((top + len(inserted) - 1, column), replaced)

    def get_text_range(self, start: Location, end: Location) -> str:
        """Return the text between two locations."""
        (top, left), (bottom, right) = sorted((start, end))
        if top == bottom:
            return self._lines[top][left:right] if top < len(self._lines) else ""
        first, *rest = self._lines[top : bottom + 1]
        if rest and bottom < len(self._lines):
            rest[-1] = rest[-1][:right]
        return "\n".join([first[left:], *rest])


def shown(line: str) -> str:
    """Return a line with every control character replaced by one glyph, so that columns stay the same."""
    if len(line) < _LONG:
        return _shown(line)
    return _shown_long(line)


def _shown(line: str) -> str:
    return line if line.isprintable() else line.translate(_GLYPHS)


_shown_long = lru_cache(maxsize=4)(_shown)


class _Glyphs(dict[int, str]):
    """Maps each code point to what it is shown as; filled on first use."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character in (_JOINER, "\t", "\n") or not is_control(character):
            glyph = character
        else:
            glyph = chr(0x2400 + code) if character < " " else _NAMED.get(character, _OTHER)
        self[code] = glyph
        return glyph


_GLYPHS = _Glyphs()


class ShownLines(ExactDocument):
    """Another document as it is shown on screen, to measure and wrap."""

    def __init__(self, source: ExactDocument) -> None:
        super().__init__("")
        self.source_lines = self._lines = source.lines
        """The lines of the other document; each has as many characters as when it is shown."""

    @property
    def text(self) -> str:
        """The whole text as shown, computed anew."""
        return "\n".join(self.lines)

    @property
    def lines(self) -> list[str]:
        """The lines as shown, computed anew."""
        return [shown(line) for line in self.source_lines]

    def get_line(self, index: int) -> str:
        """Return a line as shown."""
        return shown(self.source_lines[index])


_ONE_CELL_EACH = (
    "[ -~\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0377\u0391-\u0482\u048a-\u052f\u2010-\u2027\u2400-\u2426]*"
)
_NO_BREAKS: list[int] = []
_LAST_WORD = re.compile(r".*\s(?=\S)", re.DOTALL)
_NEXT_WORD = re.compile(r"\s(?=\S)|\Z")
_WIDEST = 2
"""The most cells that a character other than a tab takes."""


class _Cells(dict[str, int]):
    """Maps each character to its width in cells; filled on first use."""

    def __missing__(self, character: str) -> int:
        self[character] = cells = get_character_cell_size(character)
        return cells


_CELLS = _Cells()


def tab_widths(line: str, tab_width: int) -> list[int]:
    """Return the width of each tab of a line, in cells."""
    found: list[int] = []
    at = 0
    for part in line.split("\t")[:-1]:
        at += len(part) if part.isascii() and part.isprintable() else sum(map(_CELLS.__getitem__, part))
        width = tab_width - at % tab_width
        found.append(width)
        at += width
    return found


def wrap_offsets(line: str, width: int, tab_width: int) -> list[int]:
    """Return the offsets at which a line breaks to fit `width` cells, equal to those that Textual finds."""
    if not width:
        return []
    if (line.isascii() and line.isprintable()) or re.fullmatch(_ONE_CELL_EACH, line):
        return _wrap_narrow(line, width)
    # These two characters change the width of their neighbours.
    if width < _WIDEST or "\u200d" in line or "\ufe0f" in line:
        return _wrap_as_textual(line, width, tab_width)
    offsets = _wrap_measured(line, width, tab_width)
    return _wrap_as_textual(line, width, tab_width) if offsets is None else offsets


def _wrap_as_textual(line: str, width: int, tab_width: int) -> list[int]:
    # Without the sections, Textual narrows wide tabs here.
    sections = get_tab_widths(line, tab_width)
    return compute_wrap_offsets(line, width, tab_width, precomputed_tab_sections=sections)


def _wrap_narrow(line: str, width: int) -> list[int]:
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
            # The row ends within a run of spaces, which stay with the word before them.
            word = _LAST_WORD.match(line, start, end + 1)
            start = word.end() if word else end
        offsets.append(start)
    return offsets


def _wrap_measured(line: str, width: int, tab_width: int) -> list[int] | None:
    """Wrap characters of different widths; None if Textual treats a tab of the line differently."""
    cells = (
        [_CELLS[character] for character in line] if "\t" not in line else _cells_with_tabs(line, tab_width)
    )
    ends = list(accumulate(cells, initial=0))
    offsets: list[int] = []
    start, total = 0, ends[-1]
    while total - ends[start] > width:
        end = bisect_right(ends, ends[start] + width, start) - 1
        word = _LAST_WORD.match(line, start, end + 1)
        if word is None and "\t" in line:
            folded = _NEXT_WORD.search(line, end)
            if line.find("\t", start, folded.end() if folded else None) >= 0:
                return None
        start = word.end() if word else end
        offsets.append(start)
    return offsets


def _cells_with_tabs(line: str, tab_width: int) -> list[int]:
    widths = iter(tab_widths(line, tab_width))
    return [next(widths) if character == "\t" else _CELLS[character] for character in line]


class _RowsOfLines:
    """The rows of each line."""

    def __init__(self, tops: Sequence[int]) -> None:
        self._tops = tops

    def __len__(self) -> int:
        return len(self._tops) - 1

    def __getitem__(self, index: int) -> Sequence[int]:
        index = range(len(self))[index]
        return range(self._tops[index], self._tops[index + 1])


class _LinesOfRows:
    """The line of each row, and the index of the row within the line."""

    def __init__(self, tops: Sequence[int]) -> None:
        self._tops = tops

    def __len__(self) -> int:
        return self._tops[-1]

    def __getitem__(self, index: int) -> tuple[int, int]:
        row = range(len(self))[index]
        line = bisect_right(self._tops, row) - 1
        return line, row - self._tops[line]


class FastWrappedDocument(WrappedDocument):
    """Textual's wrapped document, with faster wrapping and measuring."""

    _sections: tuple[str, list[int], list[str]] = ("", [], [""])
    """The line last divided into rows, its breaks, and the rows."""

    _tabs: tuple[str, list[int]] = ("", [])
    """The line whose tabs were last measured, and their widths in cells."""

    document: ShownLines

    def wrap(self, width: int, tab_width: int | None = None) -> None:
        """Wrap every line at a width in cells; 0 for no wrapping."""
        self._width = width
        if tab_width:
            self._tab_width = tab_width
        self._wrap_offsets = self._measure(0, self.document.line_count)
        self._heights = [len(offsets) + 1 for offsets in self._wrap_offsets]
        self._count_rows()

    def wrap_range(self, start: Location, old_end: Location, new_end: Location) -> None:
        """Wrap the lines that an edit changed, after the edit."""
        last_old, last_new = len(self._wrap_offsets) - 1, self.document.line_count - 1
        first = min(start[0], old_end[0], last_old, last_new)
        old = min(max(start[0], old_end[0]), last_old)
        new = min(max(start[0], new_end[0]), last_new)
        offsets = self._measure(first, new + 1)
        heights = [len(line_offsets) + 1 for line_offsets in offsets]
        is_same = heights == self._heights[first : old + 1]
        self._wrap_offsets[first : old + 1] = offsets
        self._heights[first : old + 1] = heights
        if not is_same:
            self._count_rows()

    @property
    def height(self) -> int:
        """The number of rows."""
        return len(self._offset_to_line_info)

    def location_to_offset(self, location: Location) -> Offset:
        """Return the offset of a location on screen; past the last line, of the nearest location.

        During an undo, Textual looks up the cursor's old location, which may no longer exist.
        """
        line = max(min(location[0], len(self._wrap_offsets) - 1), 0)
        return super().location_to_offset((line, location[1]))

    def get_sections(self, line_index: int) -> list[str]:
        """Return the rows that a line is divided into."""
        line, offsets = self.document.get_line(line_index), self.get_offsets(line_index)
        if self._sections[0] is not line or self._sections[1] is not offsets:
            ends = [*offsets, len(line)]
            self._sections = (line, offsets, [line[a:b] for a, b in zip([0, *offsets], ends, strict=True)])
        return self._sections[2]

    def get_tab_widths(self, line_index: int) -> list[int]:
        """Return the width of each tab of a line, in cells."""
        line = self.document.get_line(line_index)
        if self._tabs[0] is not line:
            self._tabs = (line, tab_widths(line, self._tab_width))
        return self._tabs[1]

    def _measure(self, first: int, end: int) -> list[list[int]]:
        lines = self.document.source_lines[first:end]
        # A line short enough to fit at the greatest width of its characters needs no measuring.
        short = self._width // max(_WIDEST, self._tab_width)
        if not self._width or max(map(len, lines), default=0) <= short:
            return [_NO_BREAKS] * len(lines)
        return [_NO_BREAKS if len(line) <= short else self._breaks(line) for line in lines]

    def _breaks(self, line: str) -> list[int]:
        if len(line) <= self._width and line.isascii() and line.isprintable():
            return _NO_BREAKS
        return wrap_offsets(shown(line), self._width, self._tab_width)

    def _count_rows(self) -> None:
        tops = list(accumulate(self._heights, initial=0))
        # Except in the methods overridden here, the base class only indexes these two.
        self._offset_to_line_info = cast(list[tuple[int, int]], _LinesOfRows(tops))
        self._line_index_to_offsets = cast(list[list[int]], _RowsOfLines(tops))
