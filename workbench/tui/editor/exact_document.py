"""The text of an editor, kept character for character: only LF divides lines."""

from __future__ import annotations

from functools import lru_cache

from textual.document._document import Document, EditResult, Location, Newline

from workbench.domain.display import is_control

_JOINER = "\u200d"
_NAMED = {"\x7f": "␡", "\x85": "␤", "\u2028": "␤", "\u2029": "␤"}
_OTHER = "◌"
_LONG = 2000
"""Characters from which it pays to remember how a line is shown."""


class ExactDocument(Document):
    """A document whose text comes back as it went in.

    Textual's own takes CR, FF, VT, NEL, U+2028 and others for line ends and makes them all one kind.
    """

    def __init__(self, text: str) -> None:
        self._newline: Newline = "\n"
        self._lines: list[str] = text.split("\n")
        self._text: str | None = text

    @property
    def text(self) -> str:
        """The whole text; joined once after a change, as every change has several readers."""
        if self._text is None:
            self._text = "\n".join(self._lines)
        return self._text

    def replace_range(self, start: Location, end: Location, text: str) -> EditResult:
        """Put a text in the place of a range; the only way in which the text changes."""
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
        """The text between two places."""
        (top, left), (bottom, right) = sorted((start, end))
        if top == bottom:
            return self._lines[top][left:right] if top < len(self._lines) else ""
        first, *rest = self._lines[top : bottom + 1]
        if rest and bottom < len(self._lines):
            rest[-1] = rest[-1][:right]
        return "\n".join([first[left:], *rest])


def shown(line: str) -> str:
    """A line as a terminal may show it: every control character as one glyph, so that columns stay."""
    if len(line) < _LONG:
        return _shown(line)
    return _shown_long(line)


def _shown(line: str) -> str:
    return line if line.isprintable() else line.translate(_GLYPHS)


_shown_long = lru_cache(maxsize=4)(_shown)


class _Glyphs(dict[int, str]):
    """What every character is shown as; found out when it first comes."""

    def __missing__(self, code: int) -> str:
        self[code] = glyph = _glyph(chr(code))
        return glyph


_GLYPHS = _Glyphs()


def _glyph(character: str) -> str:
    if character in (_JOINER, "\t", "\n") or not is_control(character):
        return character
    if character in _NAMED:
        return _NAMED[character]
    return chr(0x2400 + ord(character)) if character < " " else _OTHER


class ShownLines(ExactDocument):
    """Another document as it is shown, for whoever measures and wraps what is seen."""

    def __init__(self, source: ExactDocument) -> None:
        super().__init__("")
        self._source = source
        self._lines = source.lines

    @property
    def source_lines(self) -> list[str]:
        """The lines as they are; each has as many characters as when it is shown."""
        return self._source.lines

    @property
    def text(self) -> str:
        """The whole text as shown, computed again."""
        return "\n".join(self.lines)

    @property
    def lines(self) -> list[str]:
        """The lines as shown, computed again."""
        return [line if line.isprintable() else shown(line) for line in self._source.lines]

    @property
    def line_count(self) -> int:
        """How many lines there are."""
        return self._source.line_count

    def get_line(self, index: int) -> str:
        """A line as shown."""
        return shown(self._source.lines[index])
