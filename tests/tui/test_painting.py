"""Painting only what changed writes the same cells as Textual's own update, whatever lies over what."""

from __future__ import annotations

import asyncio
import random
import re
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.ansi import AnsiDecoder
from rich.color import Color, ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import Compositor
from textual.app import App, ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.geometry import Region
from textual.strip import Strip
from textual.widgets import Static

from tests.client.loopback import answering
from tests.tui.scripted import answer, until, workbench
from workbench.domain.choice import Choice, ReceivedToken
from workbench.tui.painting import PaintUpdate, paint_directly
from workbench.tui.tokens.token_view import TokenView
from workbench.tui.tokens.transcript import Section

Cells = dict[tuple[int, int], tuple[str, Style | None]]


class Layered(App[None]):
    """Widgets beside, within and over each other, some of them scrolled and one that lets through."""

    CSS = """
    Screen { layers: below above; }
    Horizontal { height: 6; }
    Horizontal Static { width: 1fr; border: round red; background: blue 50%; }
    VerticalScroll { height: 1fr; }
    VerticalScroll Static { height: 12; background: green; }
    #over { layer: above; offset: 7 4; width: 13; height: 4; background: yellow; border: heavy white; }
    #glass { layer: above; offset: 18 2; width: 9; height: 3; background: white 20%; }
    """

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Static("one 日本語 and a long line that wraps", markup=False)
            yield Static("two", markup=False)
        with VerticalScroll():
            yield Static("\n".join(f"row {number} 漢字" for number in range(12)), markup=False)
        yield Static("over all", id="over")
        yield Static("glass", id="glass")


def cell(strip: Strip, x: int) -> tuple[str, Style | None]:
    """The text and look of a cell; of a wide character that it cuts, a blank."""
    (segment, *_) = strip.crop(x, x + 1)
    return segment.text, segment.style


def assert_painted(update: PaintUpdate | None, regions: list[Region], compositor: Compositor) -> None:
    """Exactly the cells of the regions are painted, once, and as the whole screen has them."""
    whole = compositor.render_strips()
    cells: dict[tuple[int, int], tuple[str, Style | None]] = {}
    for region, strips in update.painted if update is not None else ():
        assert len(strips) == region.height
        for y, strip in enumerate(strips, region.y):
            assert strip.cell_length == region.width
            for x in range(region.width):
                assert (region.x + x, y) not in cells
                cells[region.x + x, y] = cell(strip, x)
    screen = compositor.size.region
    wanted = {
        (x, y)
        for part in regions
        for y in part.line_range
        for x in part.column_range
        if screen.contains(x, y)
    }
    assert cells.keys() == wanted
    for (x, y), painted in cells.items():
        if painted[0] != " ":
            assert painted == cell(whole[y], x)


regions = st.lists(
    st.builds(Region, st.integers(0, 45), st.integers(0, 16), st.integers(1, 45), st.integers(1, 17)),
    min_size=1,
    max_size=6,
)


def test_what_changed_and_all_of_it_are_painted_as_the_screen_has_it() -> None:
    paint_directly()

    async def main() -> None:
        app = Layered()
        async with app.run_test(size=(42, 15)) as pilot:
            app.query_one(VerticalScroll).scroll_to(y=3, animate=False)
            await pilot.pause()
            compositor = app.screen._compositor

            @given(regions)
            def check(changed: list[Region]) -> None:
                compositor._dirty_regions = set(changed)
                update = compositor.render_partial_update()
                assert isinstance(update, PaintUpdate | None)
                assert_painted(update, changed, compositor)
                assert not compositor._dirty_regions

            check()
            update = compositor.render_full_update()
            assert isinstance(update, PaintUpdate)
            assert_painted(update, [compositor.size.region], compositor)

    asyncio.run(main())


async def test_only_the_rows_that_changed_are_written_where_they_stand() -> None:
    paint_directly()
    app = Layered()
    async with app.run_test(size=(42, 15)) as pilot:
        await pilot.pause()
        compositor = app.screen._compositor
        compositor._dirty_regions = {Region(1, 7, 3, 1), Region(1, 8, 3, 1), Region(40, 14, 9, 9)}
        update = compositor.render_partial_update()
        assert isinstance(update, PaintUpdate)
        written = update.render_segments(app.console)
        assert [region for region, _ in update.painted] == [Region(1, 7, 3, 2), Region(40, 14, 2, 1)]
        assert written.startswith("\x1b[8;2H") and "\x1b[9;2H" in written and "\x1b[15;41H" in written


colours = st.one_of(
    st.none(),
    st.sampled_from(["default", "red", "bright_blue", "color(200)"]).map(Color.parse),
    st.builds(Color.from_rgb, *[st.integers(0, 255)] * 3),
)
flags = st.sampled_from([None, False, True])
styles = st.builds(
    Style,
    color=colours,
    bgcolor=colours,
    **dict.fromkeys(("bold", "dim", "italic", "underline", "reverse", "strike", "overline"), flags),
)


@given(st.lists(st.lists(st.none() | styles, min_size=1), min_size=1))
def test_a_terminal_shows_every_cell_in_its_style_though_only_changes_are_written(
    rows: list[list[Style | None]],
) -> None:
    strips = [Strip([Segment("x", style) for style in row]) for row in rows]
    update = PaintUpdate([(Region(0, y, strip.cell_length, 1), [strip]) for y, strip in enumerate(strips)])
    written = update.render_segments(Console(color_system="truecolor"))
    # The decoder knows no way to move the cursor, and forgets nothing at the end of a row.
    shown = AnsiDecoder().decode_line(re.sub(r"\x1b\[\d+;1H", "", written))
    wanted = [style or Style() for row in rows for style in row]
    found = [shown.get_style_at_offset(Console(), column) for column in range(len(wanted))]
    assert [_seen(style) for style in found] == [_seen(style) for style in wanted]
    assert written.endswith("\x1b[0m") == bool(Strip.render_ansi(wanted[-1], ColorSystem.TRUECOLOR))


def _seen(style: Style) -> tuple[object, ...]:
    """How a cell looks: what is off is as what was never on, and the default colour as none."""
    attributes = (
        style.bold,
        style.dim,
        style.italic,
        style.underline,
        style.reverse,
        style.strike,
        style.overline,
    )
    colours = (
        None if colour is None or colour.is_default else colour.get_ansi_codes()
        for colour in (style.color, style.bgcolor)
    )
    return *map(bool, attributes), *colours


def test_what_does_not_change_between_two_cells_is_not_written_again() -> None:
    ground, level = Style(bgcolor="#000000"), Style(color="#010203", bgcolor="#000000")
    surprising = level + Style(bold=True, underline=True)
    strip = Strip(
        [Segment(*segment) for segment in (("a", ground), ("b", level), ("c", level), ("d", surprising))]
    )
    again = Strip([Segment("e", level), Segment("f", Style(link="https://example.org"))])
    update = PaintUpdate([(Region(2, 1, 4, 1), [strip]), (Region(0, 5, 2, 1), [again])])
    written = update.render_segments(Console(color_system="truecolor"))
    assert re.sub(r"id=\d+", "id=", written) == (
        "\x1b[2;3H\x1b[48;2;0;0;0ma\x1b[38;2;1;2;3mbc\x1b[1;4md"
        "\x1b[6;1H\x1b[22;24me\x1b[0m\x1b]8;id=;https://example.org\x1b\\f\x1b]8;;\x1b\\"
    )


async def test_a_picture_of_the_screen_has_its_rows() -> None:
    app = Layered()
    async with app.run_test(size=(40, 12)):
        paint_directly()
        compositor = app.screen._compositor
        console = Console(width=40, record=True, file=StringIO())
        console.print(compositor.render_update(full=True))
        rows = [strip.text for strip in compositor.render_strips()]
        assert console.export_text().splitlines()[:12] == rows


async def test_the_workbench_paints_its_stream_this_way() -> None:
    async with workbench(answering(answer(" went", " in"))) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and not app.workspace.runs.is_streaming)
        app.main.prompt.refresh()
        app.main._compositor.update_widgets({app.main.prompt})
        changed = list(app.main._compositor._dirty_regions)
        update = app.main._compositor.render_partial_update()
        assert isinstance(update, PaintUpdate)
        assert_painted(update, changed, app.main._compositor)


@pytest.mark.parametrize("padding", [0, 1])
async def test_a_transcript_that_grows_scrolls_and_moves_is_painted_in_full_bit_by_bit(padding: int) -> None:
    paint_directly()
    chance, choice, view = random.Random(padding), Choice(0), TokenView()
    shown: dict[tuple[int, int], tuple[str, Style | None]] = {}

    class Alone(App[None]):
        CSS = f"TokenView {{ padding: 0 {padding}; }}"

        def compose(self) -> ComposeResult:
            yield view

        def _display(self, screen: object, renderable: object) -> None:
            assert isinstance(renderable, PaintUpdate | None)
            for region, strips in renderable.painted if renderable is not None else ():
                for y, strip in enumerate(strips, region.y):
                    shown.update({(region.x + x, y): cell(strip, x) for x in range(region.width)})

    def grow() -> None:
        for _ in range(chance.randrange(1, 30)):
            text = chance.choice([" one", " longer", "x" * 40, "\n", "漢", "."])
            choice.append(ReceivedToken(text, -chance.random()), 0.1)
        view.pull()

    def title() -> None:
        figures = chance.choice(["", "figures", "two\nrows"])
        view.update_section(Section("r", "title", "prompt", choice, figures))

    def scroll() -> None:
        view.scroll_to(y=chance.randrange(view.max_scroll_y + 1), animate=False)

    app = Alone()
    async with app.run_test(size=(30, 12)) as pilot:
        view.set_sections([Section("r", "title", "prompt", choice)])
        for _ in range(40):
            act = chance.choice([grow, grow, grow, title, scroll, view.follow_end, view.action_follow])
            act()
            if len(choice) and chance.random() < 0.3:
                view.move_cursor("r", chance.randrange(len(choice)))
            await pilot.pause()
            app.screen._on_timer_update()
            # What was painted before is not to be compared with itself.
            view._strips.clear()
            view._styles_cache.clear()
            for y, strip in enumerate(app.screen._compositor.render_strips()):
                assert [shown[x, y] for x in range(30)] == [cell(strip, x) for x in range(30)]
