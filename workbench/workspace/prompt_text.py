"""The prompt's text as its editor holds it: changed by ranges, and joined to a whole when it is read."""

from __future__ import annotations

from collections.abc import Callable

from workbench.workspace.undo_history import Location, ReplaceText, end_of


class PromptText:
    """A text of lines that end with LF alone."""

    def __init__(self) -> None:
        self._lines = [""]
        self._text: str | None = ""

    @property
    def text(self) -> str:
        """The whole text; joined once after a change, as every change has several readers."""
        if self._text is None:
            self._text = "\n".join(self._lines)
        return self._text

    def set(self, text: str) -> None:
        """Hold another text."""
        self._lines, self._text = text.split("\n"), text

    def replace(self, start: Location, end: Location, inserted: str) -> ReplaceText:
        """Put a text in a range's place; what that did."""
        (top, left), (bottom, right) = start, end
        rows = self._lines[top : bottom + 1]
        before, after = rows[0][:left], rows[-1][right:]
        rows[-1] = rows[-1][:right]
        rows[0] = rows[0][left:]
        removed = "\n".join(rows)
        self._lines[top : bottom + 1] = f"{before}{inserted}{after}".split("\n")
        self._text = None
        return ReplaceText(start, removed, inserted)

    def apply(self, change: ReplaceText) -> None:
        """Make a change of this text."""
        self.replace(change.start, end_of(change.start, change.removed), change.inserted)

    def change_to(self, text: str) -> ReplaceText | None:
        """The smallest range whose replacement makes another text of this one; None where it is that."""
        now = self.text
        if now == text:
            return None
        begin = _common(now, text, lambda a, b, size: a[:size] == b[:size], min(len(now), len(text)))
        rest = min(len(now), len(text)) - begin
        end = _common(now, text, lambda a, b, size: not size or a[-size:] == b[-size:], rest)
        start = end_of((0, 0), now[:begin])
        return ReplaceText(start, now[begin : len(now) - end], text[begin : len(text) - end])


def _common(one: str, other: str, is_common: Callable[[str, str, int], bool], most: int) -> int:
    """How many characters at one end two texts share, of `most`; looks at few lengths, as texts are long."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        if is_common(one, other, middle):
            least = middle
        else:
            most = middle - 1
    return least
