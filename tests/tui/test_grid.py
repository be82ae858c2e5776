"""The grid screen on a scripted endpoint: sweeps, prompt sets, and going on with them."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Label

from tests.client.loopback import Handler, Received, head
from tests.tui.scripted import FOUR_PRESETS, SIZES, answer, logprob_event, until, workbench
from workbench.domain.prompt import PromptKind, TextPrompt
from workbench.domain.run import Outcome
from workbench.tui.app import WorkbenchApp
from workbench.tui.compare.column import CompareColumn
from workbench.tui.compare.screen import CompareScreen
from workbench.tui.grid.cell_table import CellTable
from workbench.tui.grid.screen import GridScreen, bar_chart, level_edges
from workbench.tui.popups.multi_picker import MultiPicker
from workbench.tui.popups.question import Form, Question
from workbench.workspace.grid import Grid


def longer_when_hotter(is_stuck: Callable[[float], bool] = lambda _: False) -> Handler:
    """A model whose answer has a token for each tenth of the temperature, and one more."""

    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        temperature = received.json.get("temperature", 1)
        assert isinstance(temperature, int | float)
        if is_stuck(temperature):
            writer.write(head() + logprob_event(" stuck"))
            await writer.drain()
            await received.gone.wait()
            return
        writer.write(head() + answer(*[" so"] * (round(temperature * 10) + 1)))
        await writer.drain()

    return handle


async def fill_in(app: WorkbenchApp, pilot: Pilot[int], command: str, *texts: str) -> None:
    """Open a form, fill its lines in, and press Enter."""
    app.main.do(command)
    await until(pilot, lambda: isinstance(app.screen, Form))
    for line, text in zip(app.screen.query(Input), texts, strict=True):
        line.value = text
    await pilot.pause()
    await pilot.press("enter")


async def sweep(app: WorkbenchApp, pilot: Pilot[int], *texts: str) -> None:
    """Sweep, with yes to the question."""
    await fill_in(app, pilot, "sweep", *texts)
    await until(pilot, lambda: isinstance(app.screen, Question))
    await pilot.press("y")
    await until(pilot, lambda: isinstance(app.screen, GridScreen))


def grid_of(app: WorkbenchApp) -> Grid:
    """The grid under way."""
    (grid,) = app.workspace.runs.under_way
    assert isinstance(grid, Grid)
    return grid


def shown(app: WorkbenchApp, row: int) -> list[str]:
    """What stands in a row of the table."""
    table = app.screen.query_one(CellTable)
    first = row * len(table.heads)
    return [table.names[row], *(cell.text for cell in table.cells[first : first + len(table.heads)])]


def line_text(app: WorkbenchApp, id: str) -> str:
    """Return the text of one of the screen's lines."""
    return str(app.screen.query_one(f"#{id}").render())


@pytest.mark.parametrize("size", SIZES)
async def test_two_axes_make_a_table_coloured_and_plotted_by_the_chosen_figure(
    size: tuple[int, int],
) -> None:
    async with workbench(longer_when_hotter(), size) as (app, pilot, loopback):
        await sweep(app, pilot, "temperature=0:0.4:0.2", "top_p=0.5,1", "1")
        await until(pilot, lambda: not grid_of(app).is_running)
        await pilot.press("m", "m")
        await until(pilot, lambda: shown(app, 2) == ["0.4", "5", "5"])
        assert [shown(app, row) for row in (0, 1)] == [["0", "1", "1"], ["0.2", "3", "3"]]
        assert line_text(app, "legend").split() == ["tokens", "≤", "1", "≤", "3", "≤", "5"]
        assert "█" in line_text(app, "plot")
        assert "6 of 6 answered" in line_text(app, "about")
        assert len({cell.style for cell in app.screen.query_one(CellTable).cells[1::2]}) == 3
        assert len(loopback.requests) == 6
        assert len({run.group for run in app.main.output.runs}) == 1
        assert len({request.json["seed"] for request in loopback.requests}) == 1


@pytest.mark.parametrize("size", SIZES)
async def test_the_answer_of_the_cell_under_the_cursor_stands_below_the_table(size: tuple[int, int]) -> None:
    async with workbench(longer_when_hotter(), size) as (app, pilot, _):
        await sweep(app, pilot, "temperature=0:0.4:0.2", "top_p=0.5,1", "1")
        await until(pilot, lambda: not grid_of(app).is_running)

        def blank_rows_and_answer() -> tuple[int, str]:
            rows = [strip.text.strip() for strip in app.screen._compositor.render_strips(app.screen.size)]
            at = next((at for at, row in enumerate(rows) if row.startswith("── temperature")), len(rows) - 1)
            return sum(not row.strip("▁ ") for row in rows[:at]), rows[at] + rows[at + 1]

        for row in range(3):
            run = grid_of(app).runs[grid_of(app).layout.indices_of(row, 1)[0]]
            wanted = f"── temperature {grid_of(app).layout.rows[row]} · "
            await pilot.press("right", *["down"] * row)
            await until(
                pilot,
                lambda wanted=wanted, run=run: (  # type: ignore[misc]
                    blank_rows_and_answer()[1].startswith(wanted)
                    and blank_rows_and_answer()[1].endswith(run.ordered[0].text.strip())
                ),
            )
            assert blank_rows_and_answer()[0] <= 1
            await pilot.press(*["up"] * row, "left")


async def test_nothing_is_sent_before_the_number_of_requests_is_agreed_to() -> None:
    async with workbench(longer_when_hotter()) as (app, pilot, loopback):
        await fill_in(app, pilot, "sweep", "temperature=0,0.1", "", "3")
        await until(pilot, lambda: isinstance(app.screen, Question))
        question = str(app.screen.query(Label).first().render())
        assert "6 requests, which may generate up to 768 completion tokens." in question
        await pilot.press("n")
        await until(pilot, lambda: app.screen is app.main)
        assert not loopback.requests


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (("temperature=0:9:1", "", "1"), "temperature"),
        (("warmth=1", "", "1"), "is not FIELD=VALUES"),
        (("", "", "1"), "is not FIELD=VALUES"),
        (("top_p=1", "top_p=0.5", "1"), "same field"),
        (("temperature=0:1:0.01", "top_p=0.01:1:0.01", "1"), "The most is 2,000"),
        (("top_p=1", "", "many"), "1 to 8 requests"),
    ],
)
async def test_what_cannot_be_swept_is_said_in_the_form(texts: tuple[str, ...], why: str) -> None:
    async with workbench(longer_when_hotter()) as (app, pilot, loopback):
        await fill_in(app, pilot, "sweep", *texts)
        await until(pilot, lambda: why in str(app.screen.query_one("#wrong", Label).render()))
        assert isinstance(app.screen, Form)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        assert not loopback.requests


async def test_escape_stops_then_leaves_and_the_same_sweep_goes_on_where_it_stopped() -> None:
    hangs = True
    async with workbench(longer_when_hotter(lambda temperature: hangs and temperature == 0.2)) as (
        app,
        pilot,
        loopback,
    ):
        texts = ("temperature=0,0.1,0.2", "", "1")
        await sweep(app, pilot, *texts)
        await until(pilot, lambda: [run.tokens for run in grid_of(app).runs] == [1, 2, 1])
        await until(pilot, lambda: sum(not run.is_running for run in grid_of(app).runs) == 2)
        await pilot.press("escape")
        await until(pilot, lambda: not grid_of(app).is_running)
        assert isinstance(app.screen, GridScreen)
        assert grid_of(app).runs[2].outcome is Outcome.STOPPED
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        hangs = False
        await fill_in(app, pilot, "sweep", *texts)
        await until(pilot, lambda: isinstance(app.screen, Question))
        question = str(app.screen.query(Label).first().render())
        assert question.startswith("This may generate") and "2 of 3 are answered already" in question
        await pilot.press("y")
        await until(pilot, lambda: isinstance(app.screen, GridScreen))
        await until(pilot, lambda: [run.tokens for run in grid_of(app).runs] == [1, 2, 3])
        assert len(loopback.requests) == 4
        assert len({run.group for run in app.main.output.runs}) == 1


async def test_r_sends_what_was_stopped_after_asking() -> None:
    hangs = True
    async with workbench(longer_when_hotter(lambda _: hangs)) as (app, pilot, loopback):
        await sweep(app, pilot, "temperature=0,0.1", "", "1")
        await until(pilot, lambda: len(loopback.requests) == 2)
        await until(pilot, lambda: all(run.tokens for run in grid_of(app).runs))
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not grid_of(app).is_running)
        hangs = False
        await pilot.press("r")
        await until(pilot, lambda: isinstance(app.screen, Question))
        await pilot.press("y")
        await until(pilot, lambda: [run.outcome for run in grid_of(app).runs] == [Outcome.COMPLETE] * 2)
        assert [run.tokens for run in grid_of(app).runs] == [1, 2]


async def test_what_was_stopped_before_it_was_sent_is_not_kept() -> None:
    async with workbench(longer_when_hotter(lambda _: True)) as (app, pilot, loopback):
        await sweep(app, pilot, "temperature=0:1:0.1", "", "1")
        await until(pilot, lambda: sum(run.tokens for run in grid_of(app).runs) == len(loopback.requests) > 0)
        await pilot.press("escape")
        await until(pilot, lambda: not grid_of(app).is_running)
        assert len(grid_of(app).left) == 11
        assert len(app.main.output.runs) == len(loopback.requests) < 11


async def test_enter_opens_a_cell_and_its_parameters_can_be_adopted_without_the_drawn_seed() -> None:
    async with workbench(longer_when_hotter()) as (app, pilot, loopback):
        await sweep(app, pilot, "temperature=0,0.3", "", "2")
        await until(pilot, lambda: not grid_of(app).is_running)
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen))
        assert len(app.screen.query("CompareColumn")) == 2
        assert len(loopback.requests) == 4
        await pilot.press("a")
        await until(pilot, lambda: app.screen is app.main)
        assert app.main.parameters.parameters.get("temperature") == 0.3
        assert app.main.parameters.parameters.get("seed") is None
        assert len(loopback.requests) == 4


async def test_why_cells_failed_is_said_and_seeds_of_repeats_are_not_remarked_on() -> None:
    async def refuse(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head(404, "application/json") + b'{"error":{"message":"no such model"}}')
        await writer.drain()

    async with workbench(refuse) as (app, pilot, _):
        await sweep(app, pilot, "temperature=0,1", "", "2")
        await until(pilot, lambda: not grid_of(app).is_running)
        await until(pilot, lambda: "4 failed" in line_text(app, "remarks"))
        assert "seed" not in line_text(app, "remarks")
        assert len(grid_of(app).left) == 4


async def test_every_prompt_of_a_file_meets_every_chosen_preset(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("one [b]\ntwo\n")
    async with workbench(longer_when_hotter()) as (app, pilot, loopback):
        await fill_in(app, pilot, "prompt_set", str(prompts), "")
        await until(pilot, lambda: isinstance(app.screen, MultiPicker))
        await pilot.press(*FOUR_PRESETS, "enter")
        await until(pilot, lambda: isinstance(app.screen, Question))
        await pilot.press("y")
        await until(pilot, lambda: isinstance(app.screen, GridScreen))
        await until(pilot, lambda: not grid_of(app).is_running)
        await pilot.press("m", "m")
        await until(pilot, lambda: shown(app, 0) == ["one [b]", "1", "3", "8", "13"])
        assert len(loopback.requests) == 8
        await pilot.press("down", "c")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen))
        await until(pilot, lambda: len(app.screen.query(CompareColumn)) == 4)
        assert {str(column.run.request.prompt) for column in app.screen.query(CompareColumn)} == {
            str(TextPrompt("two"))
        }
        assert len(loopback.requests) == 8


@pytest.mark.parametrize("command", ["compare", "prompt_set"])
async def test_several_prompts_of_the_editor_are_compared_in_a_grid(command: str) -> None:
    async with workbench(longer_when_hotter()) as (app, pilot, loopback):
        app.workspace.drafting.set_kind(PromptKind.TEXTS)
        app.workspace.drafting.set_text("one\n---\ntwo")
        await pilot.pause()
        app.main.do(command)
        if command == "prompt_set":
            await until(pilot, lambda: isinstance(app.screen, Form))
            await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, MultiPicker))
        await pilot.press(*FOUR_PRESETS, "enter")
        await until(pilot, lambda: isinstance(app.screen, Question))
        await pilot.press("y")
        await until(pilot, lambda: isinstance(app.screen, GridScreen))
        await until(pilot, lambda: not grid_of(app).is_running)
        await until(pilot, lambda: [shown(app, row)[0] for row in (0, 1)] == ["one", "two"])
        assert (
            sorted(str(request.json["prompt"]) for request in loopback.requests) == ["one"] * 4 + ["two"] * 4
        )
        assert len({request.json["seed"] for request in loopback.requests}) == 1


async def test_the_cells_of_an_only_column_are_compared_around_the_cursor() -> None:
    async with workbench(longer_when_hotter()) as (app, pilot, _):
        await sweep(app, pilot, "temperature=0:1:0.1", "", "1")
        await until(pilot, lambda: not grid_of(app).is_running)
        await pilot.press("end", "left", "enter")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen))
        await until(pilot, lambda: len(app.screen.query(CompareColumn)) == 8)
        titles = [column.column.title for column in app.screen.query(CompareColumn)]
        assert (titles[0], titles[-1]) == ("temperature 0", "temperature 0.7")
        assert "8 of 11 cells are shown" in line_text(app, "remarks")


async def test_what_is_typed_into_a_form_replaces_what_it_proposes() -> None:
    async with workbench(longer_when_hotter()) as (app, pilot, _):
        app.main.do("sweep")
        await until(pilot, lambda: isinstance(app.screen, Form))
        first = app.screen.query(Input)[0]
        await until(pilot, lambda: first.value != "" and first.has_focus)
        await pilot.press(*"top_p=0.5,0.9", "tab", "tab", *"2")
        assert [entry.value for entry in app.screen.query(Input)][::2] == ["top_p=0.5,0.9", "2"]


async def test_a_file_that_holds_no_prompts_is_said_in_the_form(tmp_path: Path) -> None:
    async with workbench(longer_when_hotter()) as (app, pilot, _):
        await fill_in(app, pilot, "prompt_set", str(tmp_path / "none.txt"), "")
        await until(pilot, lambda: "cannot be read" in str(app.screen.query_one("#wrong", Label).render()))


def test_bars_stand_on_zero_or_on_the_least_negative_value() -> None:
    chart = bar_chart(["a", "b", "c"], [1.0, 0.5, None], 2, 30)
    assert [row.split() for row in chart] == [["1", "█████"], ["0", "█████", "█████"], ["a", "b", "c"]]
    assert bar_chart(["a", "b"], [-2.0, -1.0], 1, 30)[0].split() == ["0", "▄▄▄▄▄▄▄▄▄"]
    assert bar_chart(["a"], [None], 2, 30) == []


def test_every_level_has_about_as_many_values_however_odd_one_is() -> None:
    values = [*range(1, 10), 2730.0]
    assert level_edges(values) == [2, 4, 6, 8]
    assert [bisect_left(level_edges(values), value) for value in values] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert level_edges([3.0, 3.0]) == [3.0]
    assert level_edges([]) == []


async def test_only_cells_that_stream_or_have_just_ended_are_looked_at_again() -> None:
    handler = longer_when_hotter(lambda temperature: temperature == 0.2)
    async with workbench(handler) as (app, pilot, _):
        await sweep(app, pilot, "temperature=0:0.4:0.1", "", "1")
        grid = grid_of(app)
        await until(pilot, lambda: sum(run.is_running for run in grid.runs) == 1)
        await until(pilot, lambda: shown(app, 2)[1].endswith(" 1"))
        grid.changed()
        assert grid.changed() == {2}
        assert [shown(app, row)[1] != "" for row in range(5)] == [True] * 5
        await pilot.press("escape")
        await until(pilot, lambda: not grid.is_running)
        await until(pilot, lambda: not shown(app, 2)[1].endswith(" 1"))


async def test_a_number_of_requests_that_python_refuses_to_read_is_refused_beside_the_form() -> None:
    async with workbench(longer_when_hotter()) as (app, pilot, _):
        app.main.do("sweep")
        await until(pilot, lambda: isinstance(app.screen, Form))
        app.screen.query(Input).last().value = "9" * 5000
        await pilot.press("enter")
        await until(pilot, lambda: "A cell has 1 to 8 requests" in line_text(app, "wrong"))
        assert isinstance(app.screen, Form)
