"""Paint a row of a transcript: tokens in the styles of their levels, with cursor, matches and selection."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from workbench.domain.colour_modes import Mode, Scale, level, shade
from workbench.domain.display import escape_character
from workbench.domain.scoring import SecondScoring
from workbench.tui.theme.token_colours import TokenStyles
from workbench.tui.tokens.text_search import Search
from workbench.tui.tokens.token_rows import CONTROL, NEWLINE, SPACE, TAB, clusters, is_narrow, tab_cells
from workbench.tui.tokens.transcript import BODY, TITLE, Body, Row, Transcript

_SPACE_GLYPH, _TAB_GLYPH, _NEWLINE_GLYPH = "·", "→", "↵"


class StyledRange(NamedTuple):
    """A range of a text in one style, by offsets."""

    start: int
    end: int
    style: Style


class PaintOptions(Struct, frozen=True):
    """The options that all rows are painted with."""

    base: Style
    """The widget's own style, below everything else."""
    styles: TokenStyles
    mode: Mode = Mode.FITTED
    whitespace: bool = False
    """Whether spaces, tabs and newlines are shown as glyphs."""
    boundaries: bool = False
    """Whether every second token is underlined, so that tokens can be told apart without colours."""
    second: SecondScoring | None = None
    """A second model's scoring of one of the answers."""
    search: Search | None = None
    """The search whose matches are highlighted."""


def paint(
    transcript: Transcript,
    row: Row,
    options: PaintOptions,
    *,
    cursor: int | None = None,
    selected: tuple[int, int] | None = None,
    offsets: bool = False,
) -> Strip:
    """Paint a row as a strip of the transcript's width.

    `cursor` is the token under the cursor if that is in the row's section, `selected` the range of offsets
    selected in the row's block. With `offsets`, the style of each segment records its offset in the block,
    which Textual needs to select by mouse; such styles are all different and cannot be cached.
    """
    line = row.section * 3 + row.block if offsets else None
    section = transcript.section(row.section)
    source, is_body = transcript.source(row.section, row.block), row.block == BODY
    text = source.slice(row.start, row.end)
    if is_body:
        runs = _token_runs(source, row, options, section.scale)
        if section.specials:
            runs = _mark_specials(runs, section.specials, row, options)
        if section.dim_before and source.choice:
            before = min(section.dim_before, source.seen)
            edge = source.span_of(before - 1)[1] if before else 0
            runs = _overlay(runs, len(source.prompt), edge, options.styles.dimmed)
        if section.marked is not None and section.marked < source.seen:
            runs = _overlay(
                runs, *snapped(text, row.start, *source.span_of(section.marked)), options.styles.found
            )
    else:
        style = options.styles.figures
        if row.block == TITLE and section.emphasis != "none":
            style = options.styles.cursor if section.emphasis == "current" else Style(bold=True)
        runs = [StyledRange(row.start, row.end, options.base + style)]
        # Whitespace matters only in prompts and answers.
        options = replace(options, whitespace=False)
    if section.dimmed:
        runs = _overlay(runs, row.start, row.end, options.styles.dimmed)
    if options.search is not None and is_body:
        for start, end in options.search.matches(source, row.start, row.end):
            runs = _overlay(runs, *snapped(text, row.start, start, end), options.styles.found)
    if selected:
        runs = _overlay(runs, *snapped(text, row.start, *selected), options.styles.selected)
    if is_body and cursor is not None and cursor not in source.tail:
        start, end = snapped(text, row.start, *source.span_of(cursor))
        runs = _overlay(runs, start, max(end, start + 1), options.styles.cursor)
    segments = _segments(text, runs, row, options, width=transcript.width, line=line)
    if is_body and row.end == source.length:
        used = sum(segment.cell_length for segment in segments)
        segments += _tail(source, row, options, cursor=cursor, room=transcript.width - used, line=line)
    return Strip(segments).adjust_cell_length(transcript.width, options.base)


def snapped(text: str, base: int, start: int, end: int) -> tuple[int, int]:
    """Widen a span to whole clusters, in a text that starts at offset `base`."""
    if not (text.isascii() or is_narrow(text)):
        for cluster in clusters(text):
            if base + cluster.start < start < base + cluster.end:
                start = base + cluster.start
            if base + cluster.start < end < base + cluster.end:
                end = base + cluster.end
    return start, end


def _token_runs(body: Body, row: Row, options: PaintOptions, scale: Scale) -> list[StyledRange]:
    base, styles, edge = options.base, options.styles, len(body.prompt)
    runs = [StyledRange(row.start, min(row.end, edge), base + styles.prompt)] if row.start < edge else []
    if row.end <= edge or (choice := body.choice) is None:
        return runs
    index = body.token_at(max(row.start, edge))
    if index is None:
        return runs
    levels = [base + style for style in styles.of(options.mode)]
    unknown = base if options.mode is Mode.OFF else base + styles.unknown
    start = max(row.start, edge)
    while index < body.seen and start < row.end:
        end = min(body.span_of(index)[1], row.end)
        if end > start:
            if options.mode is Mode.CONTINUOUS and styles.shades:
                found = shade(choice, index, scale)
                level_index = None if found is None else round(found * (len(levels) - 1))
            else:
                level_index = level(choice, index, options.mode, scale, options.second)
            style = unknown if level_index is None else levels[level_index]
            if options.boundaries and index % 2:
                style += Style(underline=not style.underline)
            runs.append(StyledRange(start, end, style))
            start = end
        index += 1
    return runs


def _mark_specials(
    runs: list[StyledRange], specials: Sequence[tuple[int, int, bool]], row: Row, options: PaintOptions
) -> list[StyledRange]:
    # A special token in a message's own text stands out: the endpoint will read it as the template's.
    styles = {False: options.styles.found, True: options.styles.levels[-1] + Style(reverse=True)}
    first = bisect_right(specials, row.start, key=lambda special: special[1])
    for start, end, injected in islice(specials, first, None):
        if start >= row.end:
            break
        runs = _overlay(runs, start, end, styles[injected])
    return runs


def _overlay(runs: Sequence[StyledRange], start: int, end: int, style: Style) -> list[StyledRange]:
    laid: list[StyledRange] = []
    for run in runs:
        if run.end <= start or run.start >= end:
            laid.append(run)
            continue
        first, last = max(run.start, start), min(run.end, end)
        if run.start < first:
            laid.append(StyledRange(run.start, first, run.style))
        laid.append(StyledRange(first, last, run.style + style))
        if last < run.end:
            laid.append(StyledRange(last, run.end, run.style))
    return laid


def _segments(
    text: str, runs: Sequence[StyledRange], row: Row, options: PaintOptions, *, width: int, line: int | None
) -> list[Segment]:
    plain = text.removesuffix("\n")
    if is_narrow(plain) and not options.whitespace:
        segments = [
            Segment(plain[start - row.start : end - row.start], _at(style, start, line))
            for start, end, style in _joined(runs)
            if start - row.start < len(plain)
        ]
        if runs and len(plain) < len(text) and len(plain) < width:
            segments.append(Segment(" ", _at(runs[-1].style, row.end - 1, line)))
        return segments
    parts = _Parts(options, line, width)
    of_run = iter(runs)
    run = next(of_run, None)
    for start, end, cells, kind in clusters(text):
        while run is not None and run.end <= row.start + start:
            run = next(of_run, None)
        parts.add(text[start:end], row.start + start, cells, kind, run.style if run else options.base)
    return parts.finished()


def _joined(runs: Sequence[StyledRange]) -> Iterator[StyledRange]:
    last: StyledRange | None = None
    for run in runs:
        if last is not None and last.style == run.style and last.end == run.start:
            last = StyledRange(last.start, run.end, run.style)
            continue
        if last is not None:
            yield last
        last = run
    if last is not None:
        yield last


def _at(style: Style, offset: int, line: int | None) -> Style:
    return style if line is None else style + Style.from_meta({"offset": (offset, line)})


class _Parts:
    """Collects clusters into segments, whose styles record the offset of their first character."""

    def __init__(self, options: PaintOptions, line: int | None, width: int) -> None:
        self._paint_options, self._line, self._width = options, line, width
        self._column = 0
        self._segments: list[Segment] = []
        self._open: list[str] = []
        self._open_at = 0
        self._open_style = options.base

    def add(self, text: str, offset: int, cells: int, kind: int, style: Style) -> None:
        """Add a cluster in a style."""
        options = self._paint_options
        if kind == CONTROL:
            self._each(escape_character(text), offset, style + options.styles.control)
        elif kind == TAB:
            cells = tab_cells(self._column, self._width)
            shown = (_TAB_GLYPH if options.whitespace else " ").ljust(cells)[:cells]
            self._each(shown, offset, style)
        elif kind == NEWLINE:
            cells = int(self._column < self._width)
            self._each((_NEWLINE_GLYPH if options.whitespace else " ")[:cells], offset, style)
        else:
            if style is not self._open_style or not self._open:
                self._close(offset, style)
            self._open.append(_SPACE_GLYPH if kind == SPACE and options.whitespace else text)
        self._column += cells

    def _each(self, shown: str, offset: int, style: Style) -> None:
        """Add a segment per cell, all with the same offset: a click on any of them selects the character."""
        self._close(offset, style)
        styled = _at(style, offset, self._line)
        self._segments += [Segment(character, styled) for character in shown]

    def _close(self, offset: int, style: Style) -> None:
        if self._open:
            text = "".join(self._open)
            self._segments.append(Segment(text, _at(self._open_style, self._open_at, self._line)))
            self._open.clear()
        self._open_at, self._open_style = offset, style

    def finished(self) -> list[Segment]:
        """Return the segments of all clusters added."""
        self._close(0, self._paint_options.base)
        return self._segments


def _tail(
    body: Body, row: Row, options: PaintOptions, *, cursor: int | None, room: int, line: int | None
) -> list[Segment]:
    """Return what follows the text: the bytes of an incomplete character, or a cursor without text."""
    styles = options.styles
    if body.tail and body.tail_cells > room and row.start < row.end:
        return []
    tail = []
    for index in body.tail:
        style = options.base + styles.unknown + styles.control
        style = style + styles.cursor if index == cursor else style
        tail += [Segment(character, _at(style, body.length, line)) for character in body.tail_text(index)]
    if cursor is not None and not body.tail and body.span_of(cursor)[0] >= row.end:
        tail.append(Segment(" ", _at(options.base + styles.cursor, body.length, line)))
    return tail
