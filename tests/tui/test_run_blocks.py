"""Comparisons, sweeps and prompt sets in the transcript: blocks that fold, and open again."""

from __future__ import annotations

import os

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from tests.client.loopback import answering
from tests.tui.scripted import answer, until, workbench
from tests.tui.test_grid import grid_of, line_text, longer_when_hotter, shown, sweep
from tests.tui.test_run_sections import run_of
from workbench.domain.display import plural
from workbench.domain.run import Outcome
from workbench.tui.app import WorkbenchApp
from workbench.tui.commands.command import Where
from workbench.tui.compare.column import CompareColumn
from workbench.tui.compare.screen import CompareScreen
from workbench.tui.grid.cell_table import CellTable
from workbench.tui.grid.screen import GridScreen
from workbench.tui.main.run_blocks import RunBlocks
from workbench.tui.popups.multi_picker import MultiPicker
from workbench.tui.popups.picker import Picker
from workbench.tui.replay.screen import ReplayScreen
from workbench.tui.tokens.run_sections import key_of
from workbench.workspace.runs import SelectedToken
from workbench.workspace.services import Services


async def run(app: WorkbenchApp, pilot: Pilot[int]) -> None:
    """Send the draft, to the end."""
    count = len(app.workspace.runs)
    await pilot.press("ctrl+j")
    await until(pilot, lambda: len(app.workspace.runs) > count and not app.workspace.runs.is_streaming)


async def compare(app: WorkbenchApp, pilot: Pilot[int]) -> None:
    """Compare the current settings with the first preset, and come back."""
    await pilot.press("f8")
    await until(pilot, lambda: isinstance(app.screen, MultiPicker))
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, CompareScreen))
    await until(pilot, lambda: not app.workspace.runs.is_streaming)
    await leave(app, pilot)


async def leave(app: WorkbenchApp, pilot: Pilot[int]) -> None:
    """Close the screen on top."""
    await pilot.press("escape")
    await until(pilot, lambda: app.screen is app.main and not app.workspace.runs.under_way)


def titles(app: WorkbenchApp) -> list[str]:
    """What begins each section of the transcript."""
    return [section.title for section in app.main.output.view.sections]


def short(app: WorkbenchApp) -> list[str]:
    """The titles up to what differs from machine to machine."""
    return [" · ".join(title.split(" · ")[:2]) for title in titles(app)]


def cursor_run(app: WorkbenchApp) -> int | None:
    """The number of the run under the cursor."""
    token = app.main.output.token
    return None if token is None else app.workspace.runs.index(token.run) + 1


async def test_a_comparison_is_one_line_that_unfolds_and_opens_again() -> None:
    async with workbench(answering(answer(" in", "."))) as (app, pilot, loopback):
        output = app.main.output
        await run(app, pilot)
        await compare(app, pilot)
        header = "▸ 2–3 · comparison of current settings, greedy"
        assert short(app)[1:] == [header]
        assert " · 2 runs · " in titles(app)[1]
        await run(app, pilot)
        assert short(app)[1] == header
        assert len(titles(app)) == 3
        await pilot.press("f4", "k", "k")
        assert output.blocks.current is not None and cursor_run(app) is None
        assert output.view.sections[1].emphasis == "current"
        await until(pilot, lambda: app.main.footer.where is Where.GROUP)
        assert "Enter Open  Space Fold" in app.main.footer.render().plain
        await pilot.press("space")
        assert short(app)[1] == "▾ 2–3 · comparison of current settings, greedy"
        assert [title[:4] for title in titles(app)[2:]] == ["── 2", "── 3", "── 4"]
        gone = []
        for key in ("j", "j", "j", "k", "k"):
            await pilot.press(key)
            gone.append(cursor_run(app))
        assert gone == [2, 3, 4, 3, 2]
        await pilot.press("space")
        assert len(titles(app)) == 3 and output.blocks.current is not None
        sent = len(loopback.requests)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen))
        assert [column.run.preset for column in app.screen.query(CompareColumn)] == ["", "greedy"]
        await leave(app, pilot)
        assert len(loopback.requests) == sent


async def test_the_keys_are_on_a_block_again_after_the_window_was_too_small() -> None:
    async with workbench(answering(answer(" in", "."))) as (app, pilot, _):
        await compare(app, pilot)
        await pilot.press("f4")
        await until(pilot, lambda: app.main.footer.where is Where.GROUP)
        await pilot.resize_terminal(50, 12)
        await until(pilot, lambda: app.main.focused is None)
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: app.main.focused is not None)
        assert app.main.where is Where.GROUP


async def test_a_sweep_opens_as_its_grid_also_after_the_next_start() -> None:
    async with workbench(longer_when_hotter()) as (app, pilot, loopback):
        await sweep(app, pilot, "top_p=1,0.5", "temperature=0:0.4:0.2", "2")
        await until(pilot, lambda: not grid_of(app).is_running)
        await pilot.press("m", "m")
        await until(pilot, lambda: shown(app, 1)[0] == "0.5")
        await leave(app, pilot)
        assert short(app) == ["▸ 1–12 · sweep of temperature 0, 0.2, 0.4 × top_p 0.5, 1"]
        await pilot.press("ctrl+q")
        await until(pilot, lambda: app.return_code == 0)
        sent = len(loopback.requests)
    app = WorkbenchApp(Services.open(dict(os.environ)))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: len(app.workspace.runs) == 12)
        assert short(app) == ["▸ 1–12 · sweep of temperature 0, 0.2, 0.4 × top_p 0.5, 1"]
        await pilot.press("f4", "enter")
        await until(pilot, lambda: isinstance(app.screen, GridScreen))
        assert "12 of 12 answered" in line_text(app, "about")
        await pilot.press("m", "m")
        await until(pilot, lambda: shown(app, 1) == ["1", "1 ±0", "3 ±0", "5 ±0"])
        heads = app.screen.query_one(CellTable).heads
        assert list(heads) == ["temperature 0", "temperature 0.2", "temperature 0.4"]
        await leave(app, pilot)
        assert app.main.output.blocks.current is not None
        assert len(loopback.requests) == sent
        await app.leave()


async def test_a_prompt_set_opens_as_its_grid_and_what_is_missing_can_be_sent() -> None:
    async with workbench(answering(answer(" in", "."))) as (app, pilot, loopback):
        for prompt, preset in (("one", ""), ("one", "greedy"), ("two", "")):
            sent = run_of(prompt, temperature=0 if preset else 1)
            sent.endpoint, sent.preset, sent.group = app.workspace.drafting.endpoint.name, preset, "g"
            app.workspace.runs.keep_compared(sent)
        assert short(app) == ["▸ 1–3 · 2 prompts × current settings, greedy"]
        await pilot.press("f4", "enter")
        await until(pilot, lambda: isinstance(app.screen, GridScreen))
        assert "3 of 4 answered" in line_text(app, "about")
        assert loopback.requests == []
        await pilot.press("r")
        await until(pilot, lambda: not isinstance(app.screen, GridScreen))
        await pilot.press("y")
        await until(pilot, lambda: len(app.workspace.runs) == 4 and not app.workspace.runs.is_streaming)
        assert [sent.json["prompt"] for sent in loopback.requests] == ["two"]
        assert app.workspace.runs[3].preset == "greedy"


async def test_the_run_list_goes_to_a_run_in_a_folded_block() -> None:
    async with workbench(answering(answer(" in", "."))) as (app, pilot, _):
        await compare(app, pilot)
        await pilot.press("f4", "L")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await pilot.press(*"greedy", "enter")
        await until(pilot, lambda: app.screen is app.main and cursor_run(app) == 2)
        assert [title[:4] for title in titles(app)] == ["▾ 1–", "── 1", "── 2"]
        assert app.main.output.blocks.current is None


async def test_a_click_on_the_bars_of_a_folded_run_unfolds_its_block() -> None:
    async with workbench(answering(answer(" in", "."))) as (app, pilot, _):
        await compare(app, pilot)
        assert app.main.output.answer is not None
        await pilot.click(app.main.output.bars, offset=(1, 0))
        await until(pilot, lambda: cursor_run(app) == 2)
        assert short(app)[0].startswith("▾")


async def test_what_is_about_one_answer_needs_one_and_a_block_is_deleted_as_one() -> None:
    async with workbench(answering(answer(" in", "."))) as (app, pilot, _):
        await compare(app, pilot)
        await pilot.press("f4", "p")
        await until(pilot, lambda: "Space" in app.main.output.error.text)
        assert not isinstance(app.screen, ReplayScreen)
        await pilot.press("x")
        await until(pilot, lambda: len(app.workspace.runs) == 0)
        assert titles(app) == []
        await pilot.press("u")
        await until(pilot, lambda: len(app.workspace.runs) == 2)
        assert short(app) == ["▸ 1–2 · comparison of current settings, greedy"]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_folded_sweep_of_two_thousand_cells_is_one_row(size: tuple[int, int]) -> None:
    async with workbench(answering(answer(" in", ".")), size) as (app, pilot, _):
        for number in range(2000):
            sent = run_of("Once", temperature=number / 1000)
            sent.group = "g"
            app.workspace.runs.add([sent])
        view = app.main.output.view
        assert len(view.sections) == 1
        assert plural(2000, "run") in view.sections[0].title
        assert view.virtual_size.height <= 2
        await pilot.press("f4", "L")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        rows = app.screen.query_one(OptionList).options
        assert len(rows) == 2000
        assert str(rows[0].prompt).split(" · ")[:2] == ["2000  temperature 1.999", "went"]


def test_a_folded_run_has_no_sections_and_a_removed_one_no_token() -> None:
    blocks, first, second = RunBlocks(), run_of("Once"), run_of("Once")
    first.group = second.group = "g"
    assert [blocks.add(first), blocks.add(second)] == [True, False]
    group, key = blocks.group_of(first), key_of(second, 0)
    assert group is not None and blocks.sections_of(second) == []
    blocks.fold(group, False)
    assert [section.key for section in blocks.sections_of(second)] == [key]
    assert blocks.token_at(key, 0) == SelectedToken(second, second.choices[0], 0)
    assert blocks.token_at(key, 1) is None
    blocks.show([first])
    assert blocks.token_at(key, 0) is None


def test_the_answer_of_a_failed_run_is_not_dimmed_but_the_one_before_it() -> None:
    blocks, done, failed = RunBlocks(), run_of("Once"), run_of("Twice")
    failed.outcome = Outcome.ERROR
    blocks.show([done, failed])
    assert [section.key for section in blocks.newest_answer()] == [key_of(failed, 0)]
    (section,) = blocks.newest_answer(dimmed=True)
    assert (section.key, section.dimmed) == (key_of(done, 0), True)
