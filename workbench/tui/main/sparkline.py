"""A row of bars that shows the surprisal of a choice from its first to its last token."""

from __future__ import annotations

from array import array
from itertools import pairwise
from math import isnan, log

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from workbench.domain.choice import Choice
from workbench.tui.theme.token_colours import styles_of

_BARS = "▁▂▃▄▅▆▇█"
_FULL = -log(0.01)
"""The surprisal of a full cell, in nats: probability .01."""
_BLOCK = 256


class Peaks:
    """The highest surprisal in parts of a growing choice.

    Keeps the peak of every block of tokens, so that not all tokens are read again for a new one.
    """

    __slots__ = ("_blocks", "_revision", "choice")

    def __init__(self, choice: Choice) -> None:
        self.choice = choice
        self._blocks = array("d")
        self._revision = choice.revision

    def pull(self) -> None:
        """Read what was added to the choice."""
        if self.choice.revision != self._revision:
            self._revision = self.choice.revision
            del self._blocks[:]
        for start in range(len(self._blocks) * _BLOCK, len(self.choice) - _BLOCK + 1, _BLOCK):
            self._blocks.append(self._peak(start, start + _BLOCK))

    def _peak(self, start: int, stop: int) -> float:
        surprisals = (-logprob for logprob in self.choice.logprobs[start:stop] if not isnan(logprob))
        return max(surprisals, default=-1.0)

    def over(self, columns: int) -> list[float]:
        """Return the peak of each of so many equal parts, in nats; negative without logprobs."""
        edges = edges_of(len(self.choice), columns)
        if len(self.choice) < _BLOCK * columns:
            return [self._peak(start, stop) for start, stop in pairwise(edges)]
        blocks = [*self._blocks, self._peak(len(self._blocks) * _BLOCK, len(self.choice))]
        return [max(blocks[start // _BLOCK : -(-stop // _BLOCK)]) for start, stop in pairwise(edges)]

    def highest(self, start: int, stop: int) -> int:
        """Return the most surprising token from `start` up to `stop`; the first one without logprobs."""
        logprobs = self.choice.logprobs
        return min(range(start, stop), key=lambda at: 0.0 if isnan(logprobs[at]) else logprobs[at])


def edges_of(count: int, columns: int) -> list[int]:
    """Return the edges of the columns, as token indexes; a column per token if there are fewer tokens."""
    columns = min(columns, count)
    return [count * column // columns for column in range(columns + 1)] if columns else [0]


class Sparkline(Widget):
    """A row of bars; a click jumps to the most surprising token of a bar."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Sparkline { height: 1; width: 1fr; }
    """

    class Jumped(Message):
        """A bar was clicked."""

        def __init__(self, position: int) -> None:
            super().__init__()
            self.position = position
            """The index of the most surprising token of the bar."""

    def __init__(self) -> None:
        super().__init__()
        self._peaks: Peaks | None = None
        self._position: int | None = None

    def show(self, choice: Choice | None, position: int | None = None) -> None:
        """Show a choice, and highlight the bar of the token at `position`."""
        if choice is None:
            self._peaks = None
        elif self._peaks is None or self._peaks.choice is not choice:
            self._peaks = Peaks(choice)
        self._position = position
        if self._peaks is not None:
            self._peaks.pull()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Paint the bars."""
        base, width = self.rich_style, self.size.width
        if self._peaks is None or y:
            return Strip.blank(width, base)
        edges = edges_of(len(self._peaks.choice), width)
        styles, position, segments = styles_of(self.app), self._position, list[Segment]()
        for peak, (start, stop) in zip(self._peaks.over(width), pairwise(edges), strict=True):
            is_marked = position is not None and start <= position < stop
            segments.append(Segment(_bar(peak), base + (styles.cursor if is_marked else styles.figures)))
        return Strip(segments).adjust_cell_length(width, base)

    def on_click(self, event: events.Click) -> None:
        """Request to jump to the clicked bar."""
        if self._peaks is None:
            return
        edges = edges_of(len(self._peaks.choice), self.size.width)
        if 0 <= event.x < len(edges) - 1:
            self.post_message(self.Jumped(self._peaks.highest(edges[event.x], edges[event.x + 1])))


def _bar(peak: float) -> str:
    if peak < 0:
        return " "
    return _BARS[min(int(peak / _FULL * len(_BARS)), len(_BARS) - 1)]
