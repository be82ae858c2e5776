"""A choice's surprisal from its first to its last token in one row, to see and to jump by."""

from __future__ import annotations

from array import array
from itertools import pairwise
from math import isnan, log

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from workbench.domain.choice import Choice
from workbench.tui.theme.token_colours import NO_COLOURS, TokenStyles, styles_of

_BARS = "▁▂▃▄▅▆▇█"
_FULL = -log(0.01)
"""Nats that fill a cell: probability .01."""
_BLOCK = 256


class Peaks:
    """The highest surprisal in any part of a growing choice.

    Keeps the peak of every block of tokens, so that a new token costs no look at all the others.
    """

    __slots__ = ("_blocks", "_revision", "choice")

    def __init__(self, choice: Choice) -> None:
        self.choice = choice
        self._blocks = array("d")
        self._revision = choice.revision

    def pull(self) -> None:
        """Take in what the choice has got since."""
        if self.choice.revision != self._revision:
            self._revision = self.choice.revision
            del self._blocks[:]
        for start in range(len(self._blocks) * _BLOCK, len(self.choice) - _BLOCK + 1, _BLOCK):
            self._blocks.append(self._peak(start, start + _BLOCK))

    def _peak(self, start: int, stop: int) -> float:
        surprisals = (-logprob for logprob in self.choice.logprobs[start:stop] if not isnan(logprob))
        return max(surprisals, default=-1.0)

    def over(self, columns: int) -> list[float]:
        """The peak of each of so many equal parts, in nats; below 0 where nothing is known."""
        edges = edges_of(len(self.choice), columns)
        if len(self.choice) < _BLOCK * columns:
            return [self._peak(start, stop) for start, stop in pairwise(edges)]
        blocks = [*self._blocks, self._peak(len(self._blocks) * _BLOCK, len(self.choice))]
        return [max(blocks[start // _BLOCK : -(-stop // _BLOCK)]) for start, stop in pairwise(edges)]

    def highest(self, start: int, stop: int) -> int:
        """The most surprising token from `start` to before `stop`; the first one where nothing is known."""
        logprobs = self.choice.logprobs
        return min(range(start, stop), key=lambda at: 0.0 if isnan(logprobs[at]) else logprobs[at])


def edges_of(count: int, columns: int) -> list[int]:
    """Where the columns of so many tokens begin and end; a column a token where there are few."""
    columns = min(columns, count)
    return [count * column // columns for column in range(columns + 1)] if columns else [0]


class Sparkline(Widget):
    """One row of bars; a click goes to the most surprising token of a bar."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Sparkline { height: 1; width: 1fr; }
    """

    token_styles: reactive[TokenStyles] = reactive(NO_COLOURS)

    class Jumped(Message):
        """A bar was clicked."""

        def __init__(self, sparkline: Sparkline, position: int) -> None:
            super().__init__()
            self.sparkline = sparkline
            self.position = position
            """The most surprising token of the bar."""

    def __init__(self) -> None:
        super().__init__()
        self._peaks: Peaks | None = None
        self._position: int | None = None

    def on_mount(self) -> None:
        """Draw as the application's theme says."""
        self.token_styles = styles_of(self.app)

    def show(self, choice: Choice | None, position: int | None = None) -> None:
        """Show a choice, with the bar marked that holds the token at `position`."""
        if choice is None:
            self._peaks = None
        elif self._peaks is None or self._peaks.choice is not choice:
            self._peaks = Peaks(choice)
        self._position = position
        self.pull()

    def pull(self) -> None:
        """Show what the choice has got since."""
        if self._peaks is not None:
            self._peaks.pull()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """The bars."""
        base, width = self.rich_style, self.size.width
        if self._peaks is None or y:
            return Strip.blank(width, base)
        edges = edges_of(len(self._peaks.choice), width)
        segments = [
            Segment(_bar(peak), self._style(base, start, stop))
            for peak, (start, stop) in zip(self._peaks.over(width), pairwise(edges), strict=True)
        ]
        return Strip(segments).adjust_cell_length(width, base)

    def _style(self, base: Style, start: int, stop: int) -> Style:
        marked = self._position is not None and start <= self._position < stop
        return base + (self.token_styles.cursor if marked else self.token_styles.figures)

    def on_click(self, event: events.Click) -> None:
        """Go to what was clicked."""
        if self._peaks is None:
            return
        edges = edges_of(len(self._peaks.choice), self.size.width)
        if 0 <= event.x < len(edges) - 1:
            self.post_message(self.Jumped(self, self._peaks.highest(edges[event.x], edges[event.x + 1])))


def _bar(peak: float) -> str:
    if peak < 0:
        return " "
    return _BARS[min(int(peak / _FULL * len(_BARS)), len(_BARS) - 1)]
