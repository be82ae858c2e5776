"""Lay out a growing transcript in rows: sections of a title, a prompt with its answer, and figures."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from workbench.domain.choice import Choice
from workbench.domain.colour_modes import FIXED, Scale
from workbench.domain.display import show_bytes
from workbench.tui.tokens.token_rows import Rows, row_cells

TITLE, BODY, FIGURES = range(3)
"""The blocks of a section."""
_STEP = 4096
"""Characters wrapped between two looks at the clock."""
_TAIL_LIMIT = 16


Emphasis: TypeAlias = Literal["none", "strong", "current"]


class Section(Struct, frozen=True):
    """A choice as the view shows it."""

    key: str
    """Identifies the section; unique in a view."""
    title: str = ""
    prompt: str = ""
    """The prompt before the answer, shown muted; empty if the choice echoes it."""
    choice: Choice | None = None
    """Read live: what is appended to it is shown at the next `pull`."""
    figures: str = ""
    """Figures or an error message, shown below the answer."""
    dimmed: bool = False
    """Whether the whole section is dimmed."""
    dim_before: int = 0
    """Tokens before this index are dimmed: a prefix that all columns have in common."""
    marked: int | None = None
    """The index of the token to highlight: the first in which columns differ."""
    scale: Scale = FIXED
    """The probability scale, fitted to the sampling parameters of the answer."""
    specials: Sequence[tuple[int, int, bool]] = ()
    """Spans of special tokens in the prompt, in order, and whether each is in a message's own text."""
    emphasis: Emphasis = "none"
    """The emphasis of the title; `current` marks the section that keys act on."""


class Body:
    """A prompt and the answer that continues it, as a text that grows at each `pull`; or a text alone."""

    __slots__ = ("choice", "length", "prompt", "revision", "seen", "tail")

    def __init__(self, prompt: str, choice: Choice | None = None) -> None:
        self.prompt = prompt
        self.choice = choice
        self.length = len(prompt)
        self.seen = 0
        """The number of tokens read from the choice."""
        self.revision = choice.revision if choice else 0
        self.tail: tuple[int, ...] = ()
        """The indexes of the tokens at the end that make up an incomplete UTF-8 sequence."""

    def pull(self) -> bool:
        """Read what was added to the choice; return whether anything was."""
        choice = self.choice
        if choice is None or (len(choice) == self.seen and choice.revision == self.revision):
            return False
        self.seen, self.revision = len(choice), choice.revision
        self.length = len(self.prompt) + choice.length
        first, least = self.seen, max(self.seen - _TAIL_LIMIT, 0)
        while first > least and not choice.text_of(first - 1) and choice.raw_of(first - 1) is not None:
            first -= 1
        self.tail = tuple(range(first, self.seen))
        return True

    def tail_text(self, index: int) -> str:
        """Return the bytes of a token of the tail, as text."""
        assert self.choice is not None
        return show_bytes(self.choice.raw_of(index) or b"")

    @property
    def tail_cells(self) -> int:
        """The width of the tail in cells."""
        return sum(len(self.tail_text(index)) for index in self.tail)

    def slice(self, start: int, stop: int) -> str:
        """Return the characters from `start` up to `stop`."""
        edge = len(self.prompt)
        if stop <= edge:
            return self.prompt[start:stop]
        return self.prompt[start:edge] + self._answer(max(start - edge, 0), stop - edge)

    def _answer(self, start: int, stop: int) -> str:
        choice = self.choice
        if choice is None or not len(choice) or stop <= start:
            return ""
        first = choice.token_at(start)
        text = "".join(choice.texts(first, choice.token_at(stop - 1) + 1))
        offset = choice.start_of(first)
        return text[start - offset : stop - offset]

    def token_at(self, offset: int) -> int | None:
        """Return the index of the token at an offset of the text; None in the prompt or without tokens."""
        if self.choice is None or not self.seen or offset < len(self.prompt):
            return None
        return min(self.choice.token_at(offset - len(self.prompt)), self.seen - 1)

    def span_of(self, index: int) -> tuple[int, int]:
        """Return the span of a token in the text."""
        assert self.choice is not None
        start = len(self.prompt) + self.choice.start_of(index)
        return start, start + len(self.choice.text_of(index))


class Row(NamedTuple):
    """A row of the transcript: a range of the text of a block."""

    section: int
    block: int
    start: int
    end: int


class ReadingPosition(NamedTuple):
    """A position in the transcript that does not depend on the width."""

    section: int
    block: int
    offset: int


class _Layout:
    """The rows of a section."""

    __slots__ = ("body", "pending", "rows", "section")

    def __init__(self, section: Section, width: int) -> None:
        self.section = section
        self.body = Body(section.prompt, section.choice)
        self.body.pull()
        self.rows = [Rows(width), Rows(width), Rows(width)]
        self.pending: Rows | None = None
        """The unfinished rows of the body, while `rows` holds estimated ones."""

    def source(self, block: int) -> Body:
        """Return the text of a block."""
        if block == BODY:
            return self.body
        return Body(self.section.title if block == TITLE else self.section.figures)

    def heights(self) -> tuple[int, int, int]:
        return (
            len(self.rows[TITLE]) if self.section.title else 0,
            len(self.rows[BODY]) + self._tail_rows() if self.body.length or self.body.tail else 0,
            len(self.rows[FIGURES]) if self.section.figures else 0,
        )

    def _tail_rows(self) -> int:
        body, rows = self.body, self.rows[BODY]
        if not body.tail:
            return 0
        last = row_cells(body.slice(rows.starts[-1], body.length), rows.width)
        return int(last + body.tail_cells > rows.width)

    def begin(self, width: int, offset: int, room: int, until: float) -> None:
        """Lay out again: everything if time allows, else the visible part, with estimated rows around it."""
        self.wrap_fixed(width)
        self.rows[BODY], self.pending = Rows(width), None
        if not self.work(self.rows[BODY], until):
            self.pending = self.rows[BODY]
            shown = self.rows[BODY] = Rows(width)
            shown.assume(max(offset - 2 * room, 0))
            shown.advance(self.body, 4 * room)
            shown.starts.extend(range(shown.wrapped, self.body.length, max(width - 1, 1)))
            shown.wrapped = self.body.length

    def wrap_fixed(self, width: int) -> None:
        """Lay out title and figures."""
        for block in (TITLE, FIGURES):
            self.rows[block] = Rows(width)
            source = self.source(block)
            self.rows[block].advance(source, source.length)

    def work(self, rows: Rows, until: float) -> bool:
        """Wrap the body until a time of the performance counter; return whether all of it is wrapped."""
        while not rows.advance(self.body, _STEP):
            if perf_counter() > until:
                return False
        return True


class Transcript:
    """Sections and their rows, independent of colours and screens."""

    def __init__(self) -> None:
        self.width = 0
        self._layouts: list[_Layout] = []
        self._tops: list[int] = [0]

    @property
    def sections(self) -> Sequence[Section]:
        """The sections, top to bottom."""
        return [layout.section for layout in self._layouts]

    def __len__(self) -> int:
        return len(self._layouts)

    @property
    def height(self) -> int:
        """The number of rows of all sections."""
        return max(self._tops[-1] - 1, 0) if self._layouts else 0

    @property
    def is_settled(self) -> bool:
        """Whether no row is estimated."""
        return all(layout.pending is None for layout in self._layouts)

    def section(self, index: int) -> Section:
        """Return a section."""
        return self._layouts[index].section

    def body(self, index: int) -> Body:
        """Return the text of a section's prompt and answer."""
        return self._layouts[index].body

    def source(self, index: int, block: int) -> Body:
        """Return the text of a block."""
        return self._layouts[index].source(block)

    def index_of(self, key: str) -> int:
        """Return the index of the section of a key. Raises KeyError if there is none."""
        for index, layout in enumerate(self._layouts):
            if layout.section.key == key:
                return index
        raise KeyError(key)

    def put(self, at: int, sections: Iterable[Section], budget: float, room: int) -> None:
        """Replace all sections from index `at` on."""
        del self._layouts[at:]
        until = perf_counter() + budget
        self._layouts += [self._laid_out(section, until, room) for section in sections]
        self._stack(at)

    def _laid_out(self, section: Section, until: float, room: int) -> _Layout:
        layout = _Layout(section, self.width)
        if self.width:
            layout.begin(self.width, layout.body.length, room, until)
        return layout

    def restyle(self, index: int, section: Section) -> None:
        """Replace a section by one of the same texts, so that no row moves."""
        self._layouts[index].section = section

    def change(self, index: int, section: Section, budget: float, room: int) -> None:
        """Replace a section; its body is laid out again only if its prompt or choice is another."""
        layout = self._layouts[index]
        was, layout.section = layout.section, section
        if was.prompt != section.prompt or was.choice is not section.choice:
            self._layouts[index] = self._laid_out(section, perf_counter() + budget, room)
        elif self.width:
            layout.wrap_fixed(self.width)
        self._stack(index)

    def resize(self, width: int, position: ReadingPosition | None, budget: float, room: int) -> None:
        """Lay out everything for another width, the part around `position` first.

        Takes about `budget` seconds and leaves the rest to `settle`. `room` is the approximate number of
        characters visible at once.
        """
        self.width = width
        until = perf_counter() + budget
        for index, layout in enumerate(self._layouts):
            offset = position.offset if position and position[:2] == (index, BODY) else layout.body.length
            layout.begin(width, offset, room, until)
        self._stack(0)

    def settle(self, budget: float) -> bool:
        """Continue the layout for about `budget` seconds; return whether rows moved."""
        until = perf_counter() + budget
        for index, layout in enumerate(self._layouts):
            if layout.pending is not None:
                if not layout.work(layout.pending, until):
                    return False
                layout.rows[BODY], layout.pending = layout.pending, None
                self._stack(index)
                return True
        return False

    def pull(self) -> int | None:
        """Read what was added to the choices; return the first row that changed, or None."""
        changed: int | None = None
        for index, layout in enumerate(self._layouts):
            row = self._pull(index, layout)
            if row is not None and changed is None:
                changed = row
                first = index
        if changed is not None:
            self._stack(first)
        return changed

    def _pull(self, index: int, layout: _Layout) -> int | None:
        body = layout.body
        revision, rows = body.revision, layout.rows[BODY]
        if not body.pull() or not self.width:
            return None
        if body.revision != revision:
            rows = layout.rows[BODY] = Rows(self.width)
            layout.pending = layout.pending and Rows(self.width)
        row = rows.settled if body.revision == revision else 0
        rows.advance(body, body.length)
        return self._tops[index] + layout.heights()[TITLE] + row

    def _stack(self, first: int) -> None:
        del self._tops[first + 1 :]
        for layout in self._layouts[first:]:
            self._tops.append(self._tops[-1] + sum(layout.heights()) + 1)

    def row(self, y: int) -> Row | None:
        """Return the text range shown in a row; None between sections and below the last one."""
        if not 0 <= y < self._tops[-1]:
            return None
        index = bisect_right(self._tops, y) - 1
        layout, number = self._layouts[index], y - self._tops[index]
        for block, height in enumerate(layout.heights()):
            if number < height:
                starts, length = layout.rows[block].starts, layout.source(block).length
                if number >= len(starts):
                    return Row(index, block, length, length)
                end = starts[number + 1] if number + 1 < len(starts) else length
                return Row(index, block, starts[number], end)
            number -= height
        return None

    def y_of(self, position: ReadingPosition) -> int:
        """Return the row that a position is in."""
        layout = self._layouts[position.section]
        heights = layout.heights()
        row = max(bisect_right(layout.rows[position.block].starts, position.offset) - 1, 0)
        return self._tops[position.section] + sum(heights[: position.block]) + row

    def position_at(self, y: int) -> ReadingPosition | None:
        """Return the position at the start of a row, or of the next row for one between sections."""
        for near in (y, y + 1):
            if (row := self.row(near)) is not None:
                return ReadingPosition(row.section, row.block, row.start)
        return None
