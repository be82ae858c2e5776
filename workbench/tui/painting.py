"""Replace Textual's screen updates by ones that paint only the changed rectangles.

Textual 8.2.8 renders in full every widget that overlaps the bounding box of all changes, and cuts each row at
the edges of all widgets: two columns streaming at both ends of a screen cost as much as everything between
them. Here each changed rectangle is painted front to back by the visible widgets in it, each rendering only
its own part, and only changes of style are written to the terminal. This module alone uses private members of
the compositor; `tests/tui/test_painting.py` pins them, and checks that both ways paint the same cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from operator import itemgetter

from rich.color import ColorSystem
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style
from textual._compositor import Compositor, CompositorUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip


class PaintUpdate(CompositorUpdate):
    """Rectangles to write to the terminal, which do not overlap."""

    def __init__(self, painted: Sequence[tuple[Region, list[Strip]]]) -> None:
        """`painted` holds each rectangle, in cells of the screen, with a strip for each of its rows."""
        self.painted = painted

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the rows of the screen, for a screenshot."""
        rows: dict[int, list[tuple[int, Strip]]] = {}
        for region, strips in self.painted:
            for y, strip in enumerate(strips, region.y):
                rows.setdefault(y, []).append((region.x, strip))
        for _, row in sorted(rows.items()):
            for _, strip in sorted(row, key=itemgetter(0)):
                yield from strip
            yield Segment.line()

    def render_segments(self, console: Console) -> str:
        """Return the text to write, with escape sequences for cursor positions and styles."""
        system = console._color_system or ColorSystem.TRUECOLOR
        written, codes = list[str](), ""
        for region, strips in self.painted:
            for row, strip in enumerate(strips, region.y + 1):
                written.append(f"\x1b[{row};{region.x + 1}H")
                for text, style, _ in strip:
                    wanted = "" if style is None else style._ansi or Strip.render_ansi(style, system)
                    if wanted != codes:
                        written.append(_style_change(codes, wanted))
                        codes = wanted
                    written.append(text if style is None or not style._link else _linked(text, style))
        written.append(_style_change(codes, ""))
        return "".join(written)


_OFF = {
    "1": "22",
    "2": "22",
    "3": "23",
    "4": "24",
    "5": "25",
    "6": "25",
    "7": "27",
    "8": "28",
    "9": "29",
    "21": "24",
    "51": "54",
    "52": "54",
    "53": "55",
}
"""The SGR code that ends each attribute; some end two."""


@lru_cache(maxsize=16_384)
def _style_change(old: str, new: str) -> str:
    """Return the shortest sequence that changes the style of the terminal; styles are SGR codes."""
    if not new:
        return "\x1b[0m" if old else ""
    before, after = _attributes(old), _attributes(new)
    ended = {_OFF[code] for code in before[0] - after[0]}
    started = {code for code in after[0] if code not in before[0] or _OFF[code] in ended}
    colours = [
        wanted or default
        for had, wanted, default in zip(before[1:], after[1:], ("39", "49"), strict=True)
        if had != wanted
    ]
    changed = ";".join([*sorted(ended), *sorted(started), *colours])
    whole = f"0;{new}"
    return f"\x1b[{min(changed, whole, key=len)}m" if changed else ""


def _attributes(codes: str) -> tuple[frozenset[str], str, str]:
    """Split SGR codes into attributes, foreground and background; "" is the terminal's default colour."""
    attributes, foreground, background = set[str](), "", ""
    left = iter(codes.split(";"))
    for code in left:
        if code in _OFF:
            attributes.add(code)
            continue
        if code in ("38", "48"):
            kind = next(left)
            colour = ";".join((code, kind, *islice(left, 3 if kind == "2" else 1)))
        else:
            colour = "" if code in ("39", "49") else code
        if code.startswith(("4", "10")):
            background = colour
        else:
            foreground = colour
    return frozenset(attributes), foreground, background


def _linked(text: str, style: Style) -> str:
    return f"\x1b]8;id={style._link_id};{style._link}\x1b\\{text}\x1b]8;;\x1b\\"


_render_simplified = Compositor.render_full_update


def paint_directly() -> None:
    """Paint the updates of all screens of this process this way."""
    Compositor.render_partial_update = _render_partial_update  # type: ignore[method-assign,assignment]
    Compositor.render_full_update = _render_full_update  # type: ignore[method-assign,assignment]


def _render_full_update(self: Compositor, simplify: bool = False) -> PaintUpdate | LayoutUpdate:
    # Only screenshots are simplified.
    if simplify:
        return _render_simplified(self, simplify)
    self._dirty_regions.clear()
    return _paint(self, [self.size.region])


def _render_partial_update(self: Compositor) -> PaintUpdate | None:
    changed, self._dirty_regions = self._dirty_regions, set()
    screen = self.size.region
    regions = [seen for region in changed if (seen := region.intersection(screen))]
    return _paint(self, regions) if regions else None


def _paint(compositor: Compositor, regions: list[Region]) -> PaintUpdate:
    shown = [
        (widget, region, seen)
        for widget, (region, clip) in compositor.visible_widgets.items()
        if (seen := region.intersection(clip))
    ]
    painted: list[tuple[Region, list[Strip]]] = []
    for region in _rectangles(compositor._regions_to_spans(regions)):
        left = [region]
        for widget, widget_region, seen in shown:
            if not seen.overlaps(region):
                continue
            still = []
            for part in left:
                if not part.overlaps(seen):
                    still.append(part)
                    continue
                mine = part.intersection(seen)
                painted.append((mine, widget.render_lines(mine.translate(-widget_region.offset))))
                still += _around(part, mine)
            left = still
            if not left:
                break
    return PaintUpdate(painted)


def _rectangles(spans: Iterable[tuple[int, int, int]]) -> Iterator[Region]:
    """Join equal spans of consecutive rows into rectangles. A span is a row, its first column and its end."""
    growing: dict[tuple[int, int], Region] = {}
    for y, start, end in spans:
        above = growing.get((start, end))
        if above is not None and above.bottom == y:
            growing[start, end] = Region(start, above.y, end - start, above.height + 1)
            continue
        if above is not None:
            yield above
        growing[start, end] = Region(start, y, end - start, 1)
    yield from growing.values()


def _around(region: Region, hole: Region) -> Iterator[Region]:
    """Yield the rest of a rectangle around a hole in it, as rectangles that do not overlap."""
    parts = (
        Region(region.x, region.y, region.width, hole.y - region.y),
        Region(region.x, hole.bottom, region.width, region.bottom - hole.bottom),
        Region(region.x, hole.y, hole.x - region.x, hole.height),
        Region(hole.right, hole.y, region.right - hole.right, hole.height),
    )
    return (part for part in parts if part.width > 0 and part.height > 0)
