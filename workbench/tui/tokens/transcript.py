"""A growing transcript laid out in rows: sections of title, prompt and answer, and figures."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from workbench.domain.choice import Choice
from workbench.domain.display import show_bytes
from workbench.domain.token_levels import FIXED, Scale
from workbench.tui.tokens.token_rows import Rows, row_cells

TITLE, BODY, FIGURES = range(3)
"""The blocks of a section."""
_STEP = 4096
"""Characters wrapped before the clock is looked at again."""
_TAIL_LIMIT = 16


Emphasis: TypeAlias = Literal["none", "strong", "current"]


class Section(Struct, frozen=True):
    """What the view shows of one choice."""

    key: str
    """Names the section in messages; unique in a view."""
    title: str = ""
    prompt: str = ""
    """The prompt before the answer, shown muted; empty where the choice repeats it itself."""
    choice: Choice | None = None
    """Read live: what is appended to it shows at the next `pull`."""
    figures: str = ""
    """Below the answer: figures, or an error's words."""
    dimmed: bool = False
    dim_before: int = 0
    """Tokens before this one are dimmed: a prefix that all columns share."""
    marked: int | None = None
    """The token to point out: the first one in which columns differ."""
    scale: Scale = FIXED
    """The scale of probability that is fitted to the answer's parameters."""
    specials: Sequence[tuple[int, int, bool]] = ()
    """Where special tokens stand in the prompt, in order, and whether a turn's own text holds them."""
    emphasis: Emphasis = "none"
    """How far the title stands out: of a turn that a person wrote, or the one that keys work on."""


class Body:
    """A prompt and the answer that continues it, as one text that grows at each `pull`; or a text alone."""

    __slots__ = ("choice", "length", "prompt", "revision", "seen", "tail")

    def __init__(self, prompt: str, choice: Choice | None = None) -> None:
        self.prompt = prompt
        self.choice = choice
        self.length = len(prompt)
        self.seen = 0
        """Tokens taken in."""
        self.revision = choice.revision if choice else 0
        self.tail: tuple[int, ...] = ()
        """Tokens at the end that only began a character."""

    def pull(self) -> bool:
        """Take in what the choice has got since; whether that was anything."""
        choice = self.choice
        if choice is None or (len(choice) == self.seen and choice.revision == self.revision):
            return False
        self.seen, self.revision = len(choice), choice.revision
        self.length = len(self.prompt) + choice.length
        first = self.seen
        while first > max(self.seen - _TAIL_LIMIT, 0) and self._is_partial(first - 1):
            first -= 1
        self.tail = tuple(range(first, self.seen))
        return True

    def _is_partial(self, index: int) -> bool:
        choice = self.choice
        return choice is not None and not choice.text_of(index) and choice.raw_of(index) is not None

    def tail_text(self, index: int) -> str:
        """The bytes of a token of the tail, as text."""
        return show_bytes((self.choice.raw_of(index) if self.choice else None) or b"")

    @property
    def tail_cells(self) -> int:
        """The width of the bytes at the end."""
        return sum(len(self.tail_text(index)) for index in self.tail)

    def slice(self, start: int, stop: int) -> str:
        """A part of prompt and answer."""
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
        """The token at an offset of the whole text; None in the prompt or without tokens."""
        if self.choice is None or not self.seen or offset < len(self.prompt):
            return None
        return min(self.choice.token_at(offset - len(self.prompt)), self.seen - 1)

    def span_of(self, index: int) -> tuple[int, int]:
        """Where a token stands in the whole text."""
        assert self.choice is not None
        start = len(self.prompt) + self.choice.start_of(index)
        return start, start + len(self.choice.text_of(index))


class Row(NamedTuple):
    """One row of the transcript."""

    section: int
    block: int
    number: int
    """Its place in the block."""
    start: int
    end: int


class ReadingPosition(NamedTuple):
    """Where a reader is, whatever the width."""

    section: int
    block: int
    offset: int


class _Layout:
    """The rows of one section."""

    __slots__ = ("body", "pending", "rows", "section")

    def __init__(self, section: Section, width: int) -> None:
        self.section = section
        self.body = Body(section.prompt, section.choice)
        self.body.pull()
        self.rows = [Rows(width), Rows(width), Rows(width)]
        self.pending: Rows | None = None
        """The body's rows in the making, while `rows` holds assumed ones."""

    def source(self, block: int) -> Body:
        """The text of a block."""
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
        """Lay out again: whole where time allows, else what is seen, between rows that are only assumed."""
        self.wrap_fixed(width)
        self.rows[BODY], self.pending = Rows(width), None
        if not self.work(self.rows[BODY], until):
            self.pending = self.rows[BODY]
            shown = self.rows[BODY] = Rows(width)
            shown.assume(max(offset - 2 * room, 0))
            shown.advance(self.body, 4 * room)
            self._assume_rest(shown)

    def wrap_fixed(self, width: int) -> None:
        """Lay out title and figures."""
        for block in (TITLE, FIGURES):
            self.rows[block] = Rows(width)
            source = self.source(block)
            self.rows[block].advance(source, source.length)

    def _assume_rest(self, shown: Rows) -> None:
        if shown.wrapped < self.body.length:
            shown.starts.extend(range(shown.wrapped, self.body.length, max(shown.width - 1, 1)))
            shown.wrapped = self.body.length

    def work(self, rows: Rows, until: float) -> bool:
        """Wrap until all is done or the time is up; whether all is done."""
        while not rows.advance(self.body, _STEP):
            if perf_counter() > until:
                return False
        return True


class Transcript:
    """Sections and the rows they take; knows nothing of colours and screens."""

    def __init__(self) -> None:
        self.width = 0
        self._layouts: list[_Layout] = []
        self._tops: list[int] = [0]

    @property
    def sections(self) -> Sequence[Section]:
        """The sections in order."""
        return [layout.section for layout in self._layouts]

    def __len__(self) -> int:
        return len(self._layouts)

    @property
    def height(self) -> int:
        """Rows of all sections."""
        return max(self._tops[-1] - 1, 0) if self._layouts else 0

    @property
    def is_settled(self) -> bool:
        """Whether every row is where it will stay."""
        return all(layout.pending is None for layout in self._layouts)

    def section(self, index: int) -> Section:
        """One section."""
        return self._layouts[index].section

    def body(self, index: int) -> Body:
        """The text of prompt and answer of a section."""
        return self._layouts[index].body

    def source(self, index: int, block: int) -> Body:
        """The text of a block."""
        return self._layouts[index].source(block)

    def index_of(self, key: str) -> int:
        """Where the section of that key is. Raises KeyError where there is none."""
        for index, layout in enumerate(self._layouts):
            if layout.section.key == key:
                return index
        raise KeyError(key)

    def put(self, at: int, sections: Iterable[Section], budget: float, room: int) -> None:
        """Have these sections from `at` on, in place of all that were there."""
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
        """Show the section of the same texts with other paint options: no row moves."""
        self._layouts[index].section = section

    def change(self, index: int, section: Section, budget: float, room: int) -> None:
        """Show a section in another state; its body is laid out again only where it is another one."""
        layout = self._layouts[index]
        was, layout.section = layout.section, section
        if was.prompt != section.prompt or was.choice is not section.choice:
            self._layouts[index] = self._laid_out(section, perf_counter() + budget, room)
        elif self.width:
            layout.wrap_fixed(self.width)
        self._stack(index)

    def resize(self, width: int, position: ReadingPosition | None, budget: float, room: int) -> None:
        """Lay out everything for another width, the part around `position` first.

        Takes about `budget` seconds; the rest is left to `settle`. `room` is about how many characters
        are seen at once.
        """
        self.width = width
        until = perf_counter() + budget
        for index, layout in enumerate(self._layouts):
            offset = position.offset if position and position[:2] == (index, BODY) else layout.body.length
            layout.begin(width, offset, room, until)
        self._stack(0)

    def settle(self, budget: float) -> bool:
        """Go on with what `resize` left, for about `budget` seconds; whether rows moved."""
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
        """Take in what is new in the choices; the first row that changed, or None."""
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
        """What stands in a row; None between sections and below the last one."""
        if not 0 <= y < self._tops[-1]:
            return None
        index = bisect_right(self._tops, y) - 1
        layout, number = self._layouts[index], y - self._tops[index]
        for block, height in enumerate(layout.heights()):
            if number < height:
                starts, length = layout.rows[block].starts, layout.source(block).length
                if number >= len(starts):
                    return Row(index, block, number, length, length)
                end = starts[number + 1] if number + 1 < len(starts) else length
                return Row(index, block, number, starts[number], end)
            number -= height
        return None

    def y_of(self, position: ReadingPosition) -> int:
        """The row that a position is in."""
        layout = self._layouts[position.section]
        heights = layout.heights()
        row = max(bisect_right(layout.rows[position.block].starts, position.offset) - 1, 0)
        return self._tops[position.section] + sum(heights[: position.block]) + row

    def position_at(self, y: int) -> ReadingPosition | None:
        """The position at the start of a row, or of the next one that has any."""
        for near in (y, y + 1):
            if (row := self.row(near)) is not None:
                return ReadingPosition(row.section, row.block, row.start)
        return None
