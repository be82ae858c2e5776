"""The table of a grid's cells: what is seen of it, and where keys and clicks take the cursor."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from rich.style import Style
from textual import on
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.pilot import Pilot

from workbench.tui.grid.cell_table import CellTable, TableCell

ROWS, ACROSS = 30, 12
LEVEL = Style(bold=True)


class Shown(App[None]):
    """A table that is too large for its screen, and what it has said."""

    CSS = "CellTable { height: 8; width: 40; }"

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[type[object]] = []

    def compose(self) -> ComposeResult:
        names = [f"row {row}" for row in range(ROWS)]
        yield CellTable("corner", names, [f"head {column}" for column in range(ACROSS)])

    @on(CellTable.CellHighlighted)
    @on(CellTable.Opened)
    def _hear(self, event: CellTable.CellHighlighted | CellTable.Opened) -> None:
        self.messages.append(type(event))


@asynccontextmanager
async def table() -> AsyncIterator[tuple[Shown, CellTable, Pilot[None]]]:
    """A table whose cells say where they stand."""
    app = Shown()
    async with app.run_test(size=(50, 12)) as pilot:
        shown = app.query_one(CellTable)
        shown.show([TableCell(f"{row}/{column}", LEVEL) for row in range(ROWS) for column in range(ACROSS)])
        shown.focus()
        await pilot.pause()
        yield app, shown, pilot


def lines(shown: CellTable) -> list[str]:
    """Each line that is seen, with single blanks."""
    return [
        " ".join(shown.render_line(y).text.split()) for y in range(shown.scrollable_content_region.height)
    ]


def looks(shown: CellTable, y: int) -> dict[str, Style | None]:
    """The words of a line, with the style of each."""
    return {text.strip(): style for text, style, _ in shown.render_line(y) if text.strip()}


async def test_heads_and_names_stay_in_view_wherever_the_cursor_takes_the_rest() -> None:
    async with table() as (_, shown, pilot):
        assert lines(shown)[:2] == ["corner head 0 head 1 head 2", "row 0 0/0 0/1 0/2"]
        await pilot.press("pagedown", "pagedown", "end")
        seen = lines(shown)
        assert shown.cursor == (12, ACROSS)
        assert seen[0].startswith("corner ") and seen[0].endswith(" head 11")
        assert seen[-1].startswith("row 12 ") and seen[-1].endswith(" 12/11")
        await pilot.press("home", "pageup", "pageup")
        assert shown.cursor == (0, 0)
        assert lines(shown)[1] == "row 0 0/0 0/1 0/2"


async def test_every_key_moves_the_cursor_and_none_takes_it_out_of_the_table() -> None:
    async with table() as (app, shown, pilot):
        await pilot.press("up", "left", "left")
        assert shown.cursor == (0, 0)
        await pilot.press("down", "right", "right")
        assert shown.cursor == (1, 2)
        assert app.messages == [CellTable.CellHighlighted] * 4
        await pilot.press("end", "right", *["pagedown"] * 9, "down")
        assert shown.cursor == (ROWS - 1, ACROSS)


async def test_a_cell_has_its_style_under_its_text_and_the_cursor_a_style_that_fills_the_cell() -> None:
    async with table() as (_, shown, pilot):
        cursor = shown.get_component_rich_style("cell-table--cursor")
        assert looks(shown, 1)["0/0"] == cursor and looks(shown, 1)["0/1"] == shown.rich_style + LEVEL
        assert next(text for text, style, _ in shown.render_line(1) if style == cursor) == "  0/0      "
        await pilot.press("home")
        assert looks(shown, 1)["row 0"] == cursor and looks(shown, 1)["0/0"] != cursor


async def test_a_click_goes_to_a_cell_and_opens_the_one_under_the_cursor() -> None:
    async with table() as (app, shown, pilot):
        await pilot.click(shown, offset=(21, 3))
        assert shown.cursor == (2, 2)
        assert app.messages == [CellTable.CellHighlighted]
        await pilot.click(shown, offset=(21, 3))
        assert app.messages == [CellTable.CellHighlighted, CellTable.Opened]
        await pilot.click(shown, offset=(2, 5))
        assert shown.cursor == (4, 0)
        await pilot.click(shown, offset=(12, 0))
        assert shown.cursor == (4, 0)


async def test_a_text_that_is_too_long_for_its_cell_is_cut_at_its_edge() -> None:
    async with table() as (_, shown, _pilot):
        shown.show([TableCell("漢字" * 9, LEVEL)] * (ROWS * ACROSS))
        assert looks(shown, 2)["漢字漢字"] == shown.rich_style + LEVEL
        assert shown.render_line(2).cell_length == shown.size.width


async def test_only_rows_whose_cells_change_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with table() as (_, shown, _pilot):
        drawn = list[Region]()
        monkeypatch.setattr(shown, "refresh", lambda *regions, **_: drawn.extend(regions))
        shown.show([*shown.cells[:-1], TableCell("beyond what is seen", LEVEL)])
        assert drawn == []
        changed = list(shown.cells)
        changed[2 * ACROSS] = TableCell("new", LEVEL)
        shown.show(changed)
        assert drawn == [Region(0, 3, shown.size.width, 1)]
        assert lines(shown)[3].startswith("row 2 new ")
