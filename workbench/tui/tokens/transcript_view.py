"""The scrolling view of a growing transcript, each token in the colour of its level."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from msgspec.structs import replace
from rich.style import Style
from textual import events
from textual.cache import LRUCache
from textual.dom import NoScreen
from textual.geometry import Region, Size
from textual.reactive import Reactive, reactive, var
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer

from workbench.domain.colour_modes import Mode
from workbench.domain.scoring import SecondScoring
from workbench.tui.theme.token_colours import NO_COLOURS, styles_of
from workbench.tui.tokens.row_painter import PaintOptions, paint
from workbench.tui.tokens.selection import selected_span, selected_text
from workbench.tui.tokens.text_search import Search
from workbench.tui.tokens.token_cursor import Cursor, at
from workbench.tui.tokens.transcript import BODY, TITLE, ReadingPosition, Row, Section, Transcript

_BUDGET = 0.012
"""Seconds that a change may spend on layout; the rest is laid out in slices."""
_SLICE = 0.006
_CACHED = 128
"""Painted rows that are cached, or two screens of rows if that is more."""
_CLUSTER = 16
"""Characters before a token that may be in one cluster with its first."""
_FEW = 256
"""The most rows that are removed from the cache one by one; more clear it."""


class TranscriptView(ScrollView, can_focus=True):
    """Sections of prompts and answers; follows the end, or keeps the reading position.

    The owner calls `pull` about 30 times a second while a run streams.
    """

    DEFAULT_CSS = """
    TranscriptView { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; }
    """
    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False, repaint=False)
    """The scrollbar is always visible, so that a new row does not lay out the screen again."""
    mode: reactive[Mode] = reactive(Mode.FITTED)
    """What the colours show."""
    whitespace = reactive(False)
    """Whether spaces, tabs and newlines are shown as glyphs."""
    boundaries = reactive(False)
    """Whether every second token is underlined."""
    second: reactive[SecondScoring | None] = reactive(None)
    """A second model's scoring of one of the answers, for the colours of Mode.DIFFERENCE."""
    search: reactive[Search | None] = reactive(None)
    """The search whose matches are highlighted."""
    is_following = var(True)
    """Whether the view scrolls to the end as text arrives."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._transcript = Transcript()
        self._options = PaintOptions(Style(), NO_COLOURS)
        self._strips: LRUCache[int, Strip] = LRUCache(_CACHED)
        self._cursor: Cursor | None = None
        self._fitting = False
        self._settling: Timer | None = None
        self._thumb = (0, 0)
        self._drawing = False

    # --- sections ----------------------------------------------------------------------------------------

    @property
    def sections(self) -> Sequence[Section]:
        """The sections, in order."""
        return self._transcript.sections

    def set_sections(self, sections: Iterable[Section]) -> None:
        """Replace all sections. The cursor stays on its token if the section of that key is still there."""
        kept, cursor, shown = list(sections), self.cursor, self._transcript.sections
        same = next(
            (at for at, (new, old) in enumerate(zip(kept, shown, strict=False)) if new != old),
            min(len(kept), len(shown)),
        )

        def put() -> None:
            self._transcript.put(same, kept[same:], _BUDGET, self._room)
            self._transcript.pull()

        self._reflow(put)
        self._cursor = None
        if cursor is not None:
            with suppress(KeyError):
                self._cursor = at(self._transcript, *cursor)

    def add_section(self, section: Section) -> None:
        """Append a section."""
        transcript = self._transcript
        self._reflow(lambda: transcript.put(len(transcript), [section], _BUDGET, self._room))

    def update_section(self, section: Section) -> None:
        """Replace the section with the same key. Raises KeyError if there is none."""
        index = self._transcript.index_of(section.key)
        old = self._transcript.section(index)
        if section == replace(old, dim_before=section.dim_before, marked=section.marked):
            self._transcript.restyle(index, section)
            self._forget_tokens(index, *sorted((old.dim_before, section.dim_before)))
            if old.marked != section.marked:
                for marked in (old.marked, section.marked):
                    self._forget_tokens(index, marked or 0, 0 if marked is None else marked + 1)
        else:
            self._reflow(lambda: self._transcript.change(index, section, _BUDGET, self._room))

    def show_section(self, key: str) -> None:
        """Scroll to the start of a section. Raises KeyError if there is none of that key."""
        self._show_position(ReadingPosition(self._transcript.index_of(key), TITLE, 0))

    def show_offset(self, key: str, offset: int) -> None:
        """Scroll to a character of a section's text. Raises KeyError if there is no section of that key."""
        self._show_position(ReadingPosition(self._transcript.index_of(key), BODY, offset))

    def _show_position(self, position: ReadingPosition) -> None:
        self.is_following = False
        self._scroll_y_to(min(self._transcript.y_of(position), int(self.max_scroll_y)))

    def pull(self) -> bool:
        """Show what was added to the choices since the last call; return whether anything was."""
        before = self._transcript.height
        position = self._position
        changed = self._transcript.pull()
        if changed is None:
            return False
        self._hold_cursor()
        self._forget(changed, max(before, self._transcript.height))
        self._fit(position)
        return True

    def _hold_cursor(self) -> None:
        """Keep the cursor on a token after the endpoint replaced tokens by fewer."""
        if self._cursor is not None:
            index, position = self._cursor
            seen = self._transcript.body(index).seen
            self._cursor = Cursor(index, min(position, seen - 1)) if seen else None

    def notify_style_update(self) -> None:
        """Paint all rows again in the new styles."""
        super().notify_style_update()
        self._repaint()

    def _repaint(self) -> None:
        self._strips.clear()
        self.refresh()

    # --- layout and scrolling ----------------------------------------------------------------------------

    @property
    def _room(self) -> int:
        size = self.scrollable_content_region.size
        return max(size.width * size.height, 2000)

    @property
    def is_settled(self) -> bool:
        """Whether every row is laid out for the current width; if not, layout continues in the background."""
        return self._transcript.is_settled

    @property
    def _position(self) -> ReadingPosition | None:
        """The reading position; None while the view follows the end."""
        return None if self.is_following else self._transcript.position_at(self.scroll_offset.y)

    def _reflow(self, change: Callable[[], None]) -> None:
        """Apply a change to the layout, and keep the reading position within its section."""
        position = self._position
        key = self._transcript.section(position.section).key if position is not None else ""
        change()
        if position is not None:
            with suppress(KeyError):
                position = position._replace(section=self._transcript.index_of(key))
        self._repaint()
        self._fit(position)
        if not self._transcript.is_settled and self._settling is None and self.is_attached:
            self._settling = self.set_interval(1 / 60, self._settle)

    def _settle(self) -> None:
        position = self._position
        if self._transcript.settle(_SLICE):
            self._repaint()
            self._fit(position)
        if self._transcript.is_settled and self._settling is not None:
            self._settling.stop()
            self._settling = None

    def on_resize(self, event: events.Resize) -> None:
        """Lay out for the new width, the visible part first."""
        self._strips.maxsize = max(_CACHED, 2 * event.size.height)
        width = self.scrollable_content_region.width
        if width != self._transcript.width:
            position = self._position
            self._reflow(lambda: self._transcript.resize(width, position, _BUDGET, self._room))
        else:
            self._fit(None)

    def _fit(self, position: ReadingPosition | None) -> None:
        """Update the height, and scroll to a position, or to the end while that is followed."""
        transcript = self._transcript
        self._fitting = True
        try:
            self.virtual_size = Size(transcript.width, transcript.height)
            if self.is_following:
                self._scroll_y_to(self.max_scroll_y)
            elif position is not None and position.section < len(transcript):
                self._scroll_y_to(transcript.y_of(position))
        finally:
            self._fitting = False
        self._move_thumb()

    def _scroll_y_to(self, y: int) -> None:
        """Scroll without treating this as scrolling by the user."""
        fitting, self._fitting = self._fitting, True
        try:
            if y != self.scroll_offset.y and self.is_attached:
                self.scroll_to(y=y, animate=False, force=True)
        finally:
            self._fitting = fitting
        if not fitting:
            self._move_thumb()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Start or stop following the end, as the user scrolls to or away from it."""
        if self._fitting:
            self.refresh(self.scrollable_content_region.size.region)
            return
        super().watch_scroll_y(old_value, new_value)
        self.is_following = round(new_value) >= self.max_scroll_y

    def follow_end(self) -> None:
        """Scroll to the end and follow it from now on."""
        self.is_following = True
        self._fit(None)

    def _move_thumb(self) -> None:
        """Update the scrollbar if its thumb moves by at least half a cell.

        The scrollbar costs as much as the text beside it, and would otherwise be drawn for every new row.
        """
        height, seen = max(self._transcript.height, 1), self.size.height
        thumb = (min(2 * seen * seen // height, 2 * seen), 2 * seen * self.scroll_offset.y // height)
        if thumb != self._thumb and self.is_attached:
            self._thumb = thumb
            self.vertical_scrollbar.window_virtual_size = height
            self.vertical_scrollbar.position = self.scroll_y

    # --- painting ----------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """Paint a visible row, with the offsets that Textual needs to select by mouse."""
        y += self.scroll_offset.y
        if self._drawing:
            return self._kept(y)
        self._take_options()
        return self._paint(y, offsets=True)

    def _take_options(self) -> None:
        """Read the paint options from the attributes, and discard cached rows if they changed."""
        options = PaintOptions(
            self.rich_style,
            styles_of(self.app),
            self.mode,
            self.whitespace,
            self.boundaries,
            self.second,
            self.search,
        )
        if options != self._options:
            self._options = options
            self._strips.clear()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return cached rows, unless the style sheet adds a border or an effect to them.

        Strips keep what was rendered of them, so that returning the same ones saves rendering them again.
        """
        self._take_options()
        if self.styles.gutter or self.opacity != 1 or self.styles.tint.a:
            self._drawing = True
            try:
                return super().render_lines(crop)
            finally:
                self._drawing = False
        _, background = self.background_colors
        filters, top = self.get_line_filters(), self.scroll_offset.y
        strips = []
        for y in crop.line_range:
            strip = self._kept(top + y)
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, background)
            strips.append(strip)
        if crop.column_span != (0, self.outer_size.width):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def _kept(self, y: int) -> Strip:
        """Return a row from the cache; paint it if it is not there."""
        strip = self._strips.get(y)
        if strip is None or strip.cell_length != self.outer_size.width:
            strip = self._strips[y] = self._paint(y)
        return strip

    def _paint(self, y: int, offsets: bool = False) -> Strip:
        row, width = self._transcript.row(y), self.outer_size.width
        if row is None or not self._transcript.width:
            return Strip.blank(width, self._options.base)
        cursor = self._cursor.position if self._cursor and self._cursor.section == row.section else None
        selected = self._selected_in(row)
        strip = paint(self._transcript, row, self._options, cursor=cursor, selected=selected, offsets=offsets)
        return strip.adjust_cell_length(width, self._options.base)

    def _forget(self, first: int, stop: int) -> None:
        """Discard rows from the cache, and refresh those that are visible."""
        top, height = self.scroll_offset.y, self.size.height
        if stop - first > _FEW:
            self._strips.clear()
        else:
            for y in range(first, stop):
                self._strips.discard(y)
        begin, end = max(first, top), min(stop, top + height)
        if begin < end:
            self.refresh(Region(0, begin - top, self.scrollable_content_region.width, end - begin))

    def _forget_tokens(self, section: int, first: int, stop: int) -> None:
        """Discard and refresh the rows of some tokens."""
        body = self._transcript.body(section)
        stop = min(stop, body.seen)
        if first < stop:
            start, end = body.span_of(first)[0], body.span_of(stop - 1)[1]
            top = self._transcript.y_of(ReadingPosition(section, BODY, max(start - _CLUSTER, 0)))
            self._forget(top, self._transcript.y_of(ReadingPosition(section, BODY, end)) + 1)

    # --- cursor and selection ----------------------------------------------------------------------------

    @property
    def cursor(self) -> tuple[str, int] | None:
        """The token under the cursor: the key of its section and its index in the choice."""
        if self._cursor is None:
            return None
        return self._transcript.section(self._cursor.section).key, self._cursor.position

    def selected_text(self) -> str:
        """Return the exact selected text, or an empty string."""
        selection = self.text_selection
        found = self.get_selection(selection) if selection else None
        return found[0] if found else ""

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the exact text of a selection, and the line end that Textual adds to it."""
        return selected_text(self._transcript, selection), "\n"

    def _selected_in(self, row: Row) -> tuple[int, int] | None:
        try:
            selection = self.text_selection
        except NoScreen:
            # A view that is being removed may be painted once more, without a screen.
            return None
        return selected_span(selection, row) if selection else None

    def selection_updated(self, selection: Selection | None) -> None:
        """Paint the new selection."""
        self._repaint()
