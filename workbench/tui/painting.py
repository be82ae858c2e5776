"""Paints what changed and nothing else, in place of Textual's own way to update a part of the screen.

Textual 8.2.8 renders every widget that overlaps the rectangle around all that changed, whole, and cuts each
of its rows at the edges of all widgets: two columns that stream at both ends of a screen cost as much as all
between them. Here each changed rectangle is painted by the widgets that are seen in it, front to back, each
rendering only its own part. This module alone uses the compositor's privates; `tests/tui/test_painting.py`
pins them and that both ways paint the same cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from textual._compositor import Compositor, CompositorUpdate
from textual.geometry import Region
from textual.strip import Strip


class PaintUpdate(CompositorUpdate):
    """Rectangles to be written to the terminal; they do not overlap."""

    def __init__(self, painted: Sequence[tuple[Region, list[Strip]]]) -> None:
        """`painted` has each rectangle in cells of the screen, with a strip for each of its rows."""
        self.painted = painted

    def render_segments(self, console: Console) -> str:
        """The text to write, with the sequences that move the terminal's cursor."""
        return "".join(
            f"\x1b[{row};{region.x + 1}H{strip.render(console)}"
            for region, strips in self.painted
            for row, strip in enumerate(strips, region.y + 1)
        )


def paint_directly() -> None:
    """Let every screen of this process paint its partial updates this way."""
    Compositor.render_partial_update = _render_partial_update  # type: ignore[method-assign,assignment]


def _render_partial_update(self: Compositor) -> PaintUpdate | None:
    changed, self._dirty_regions = self._dirty_regions, set()
    screen = self.size.region
    regions = [seen for region in changed if (seen := region.intersection(screen))]
    if not regions:
        return None
    shown = [
        (widget, region, seen)
        for widget, (region, clip) in self.visible_widgets.items()
        if (seen := region.intersection(clip))
    ]
    painted: list[tuple[Region, list[Strip]]] = []
    for region in _rectangles(self._regions_to_spans(regions)):
        left = [region]
        for widget, place, seen in shown:
            if not seen.overlaps(region):
                continue
            still = []
            for part in left:
                if not part.overlaps(seen):
                    still.append(part)
                    continue
                mine = part.intersection(seen)
                painted.append((mine, widget.render_lines(mine.translate(-place.offset))))
                still += _around(part, mine)
            left = still
            if not left:
                break
    return PaintUpdate(painted)


def _rectangles(spans: Iterable[tuple[int, int, int]]) -> Iterator[Region]:
    """Spans of rows as the fewest rectangles that join equal spans of rows below each other."""
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
    """What is left of a rectangle around a hole in it, as rectangles that do not overlap."""
    parts = (
        Region(region.x, region.y, region.width, hole.y - region.y),
        Region(region.x, hole.bottom, region.width, region.bottom - hole.bottom),
        Region(region.x, hole.y, hole.x - region.x, hole.height),
        Region(hole.right, hole.y, region.right - hole.right, hole.height),
    )
    return (part for part in parts if part.width > 0 and part.height > 0)
