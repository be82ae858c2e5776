"""Playing a run again, and sending it again, on the screen."""

from __future__ import annotations

import json
from functools import partial

import pytest
from textual.pilot import Pilot

from tests.client.loopback import answering, hanging, head, in_turn
from tests.tui.scripted import SIZES, answer, logprob_event, until, workbench
from workbench.domain.choice import ReceivedToken
from workbench.domain.run import Outcome
from workbench.tui.app import WorkbenchApp
from workbench.tui.compare.screen import RerunScreen
from workbench.tui.replay.screen import ReplayScreen
from workbench.workspace.rerun import Rerun


async def run_once(app: WorkbenchApp, pilot: Pilot[int]) -> None:
    """Send the draft, wait for its end, and go to the output."""
    await pilot.press("ctrl+j")
    await until(pilot, lambda: bool(app.main.output.runs) and not app.main.output.runs[-1].is_running)
    await pilot.press("f4")


async def replaying(app: WorkbenchApp, pilot: Pilot[int]) -> ReplayScreen:
    """Play the newest run again, paused at once and begun anew."""
    await pilot.press("p")
    await until(pilot, lambda: isinstance(app.screen, ReplayScreen) and app.screen.focused is not None)
    screen = app.screen
    assert isinstance(screen, ReplayScreen)
    return screen


async def rerunning(app: WorkbenchApp, pilot: Pilot[int]) -> RerunScreen:
    """Send the newest run again."""
    await pilot.press("r")
    await until(pilot, lambda: isinstance(app.screen, RerunScreen) and app.screen.focused is not None)
    screen = app.screen
    assert isinstance(screen, RerunScreen)
    return screen


def shown(screen: ReplayScreen | RerunScreen, id: str) -> str:
    """The text of one row of the screen."""
    return str(screen.query_one(f"#{id}").render())


def ends_at(screen: ReplayScreen, width: int) -> bool:
    """Whether the first row ends with the state, at the edge of a window of a width."""
    row = shown(screen, "about")
    return len(row) == width - 2 and row.endswith("● end")


@pytest.mark.parametrize("size", SIZES)
async def test_a_run_plays_again_to_the_same_text_and_nothing_is_sent(size: tuple[int, int]) -> None:
    async with workbench(answering(answer(" went", " in", ".")), size) as (app, pilot, loopback):
        await run_once(app, pilot)
        screen = await replaying(app, pilot)
        await until(pilot, lambda: screen.replay.is_over)
        await until(pilot, lambda: "3/3 tok" in shown(screen, "about") and "end" in shown(screen, "about"))
        (section,) = screen.view.sections
        assert section.choice is not None
        assert section.choice.text == " went in."
        assert section.figures.startswith("done · end of text · 3 tok")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        assert len(loopback.requests) == 1


async def test_one_key_pauses_and_goes_on_and_a_step_shows_one_token() -> None:
    async with workbench(answering(answer(" a", " b", " c", " d"))) as (app, pilot, _):
        await run_once(app, pilot)
        recorded = app.main.output.runs[0].ordered[0]
        slow = [when + 5 * index for index, when in enumerate(recorded.at)]
        recorded.replace(
            [ReceivedToken(token.text, token.logprob, token.alternatives) for token in recorded], slow
        )
        screen = await replaying(app, pilot)
        await until(pilot, lambda: screen.replay.run.tokens == 1)
        await pilot.press("space")
        assert screen.replay.is_paused
        await until(pilot, lambda: "paused" in shown(screen, "about"))
        await pilot.press("s")
        assert screen.replay.run.tokens == 2
        await until(pilot, lambda: "2/4 tok" in shown(screen, "about"))
        await pilot.press("enter", "s")
        assert screen.replay.is_over
        await pilot.press("space")
        assert not screen.replay.is_over
        await pilot.press("0")
        await until(pilot, lambda: screen.replay.run.outcome is Outcome.COMPLETE)


async def test_the_first_row_of_a_finished_replay_fits_a_window_that_is_resized() -> None:
    async with workbench(answering(answer(" a")), (120, 40)) as (app, pilot, _):
        await run_once(app, pilot)
        screen = await replaying(app, pilot)
        await until(pilot, lambda: "● end" in shown(screen, "about"))
        for width in (80, 130):
            await pilot.resize_terminal(width, 24)
            await until(pilot, partial(ends_at, screen, width))


async def test_it_plays_faster_and_slower() -> None:
    async with workbench(answering(answer(" a"))) as (app, pilot, _):
        await run_once(app, pilot)
        screen = await replaying(app, pilot)
        await pilot.press("plus", "plus")
        assert screen.replay.speed == 4
        await pilot.press("minus", "minus", "minus")
        assert screen.replay.speed == 0.5
        assert "0.5×" in shown(screen, "about")


async def test_the_inspector_shows_the_token_under_the_cursor() -> None:
    async with workbench(answering(answer(" went", " in"))) as (app, pilot, _):
        await run_once(app, pilot)
        screen = await replaying(app, pilot)
        await until(pilot, lambda: screen.replay.is_over)
        await until(pilot, lambda: "in" in str(screen.inspector.body.render()))
        await pilot.press("left")
        await until(pilot, lambda: screen.view.cursor is not None)
        await pilot.press("home")
        await until(pilot, lambda: "went" in str(screen.inspector.body.render()))
        assert "other" in str(screen.inspector.body.render())


@pytest.mark.parametrize("size", SIZES)
async def test_an_answer_that_comes_again_is_identical(size: tuple[int, int]) -> None:
    async with workbench(answering(answer(" went", " in")), size) as (app, pilot, loopback):
        await run_once(app, pilot)
        screen = await rerunning(app, pilot)
        await until(pilot, lambda: "identical 2/2" in shown(screen, "about"))
        assert json.loads(loopback.requests[0].body) == json.loads(loopback.requests[1].body)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        assert [run.parent and run.parent.kind for run in app.main.output.runs] == [None, "rerun"]


async def test_the_first_difference_is_told_with_both_distributions() -> None:
    handler = in_turn(answering(answer(" went", " in")), answering(answer(" went", " out")))
    async with workbench(handler) as (app, pilot, _):
        await run_once(app, pilot)
        screen = await rerunning(app, pilot)
        await until(pilot, lambda: "diverges at token 2" in shown(screen, "about"))
        await until(pilot, lambda: "' in' recorded, ' out' again" in shown(screen, "remarks"))
        assert "apart" in shown(screen, "remarks")
        drawn = [str(column.distribution.render()) for column in screen.query("CompareColumn").results()]  # type: ignore[attr-defined]
        assert "in" in drawn[0] and "out" in drawn[1]


async def test_the_answers_are_compared_while_the_new_one_streams() -> None:
    handler = in_turn(
        answering(answer(" a", " b", " c")), hanging(head() + logprob_event(" a") + logprob_event(" x"))
    )
    async with workbench(handler) as (app, pilot, _):
        await run_once(app, pilot)
        screen = await rerunning(app, pilot)
        await until(pilot, lambda: "diverges at token 2" in shown(screen, "about"))
        (again,) = app.workspace.runs.under_way
        assert isinstance(again, Rerun) and again.again.is_running
        await pilot.press("escape")
        await until(pilot, lambda: again.again.outcome is Outcome.STOPPED)
        await until(pilot, partial(_is_kept, app, again.again.id))


async def test_a_rerun_stopped_before_its_first_token_is_told_as_that_and_nothing_else() -> None:
    handler = in_turn(answering(answer(" a", " b")), hanging(head()))
    async with workbench(handler) as (app, pilot, loopback):
        await run_once(app, pilot)
        screen = await rerunning(app, pilot)
        await until(pilot, lambda: len(loopback.requests) == 2)
        await pilot.press("escape")
        await until(pilot, lambda: "nothing to compare" in shown(screen, "about"))
        remarks = "! nothing to compare: the re-run was stopped before its first token"
        await until(pilot, lambda: shown(screen, "remarks") == remarks)
        drawn = [str(column.distribution.render()) for column in screen.query("CompareColumn").results()]  # type: ignore[attr-defined]
        assert [line.strip() for line in drawn] == ["nothing to compare"] * 2


async def test_the_models_of_a_rerun_are_named_in_the_order_they_answered() -> None:
    other = answer(" a", " x").replace(b"scripted", b"changed")
    async with workbench(in_turn(answering(answer(" a", " b")), answering(other))) as (app, pilot, _):
        await run_once(app, pilot)
        screen = await rerunning(app, pilot)
        await until(pilot, lambda: "answered by scripted, then by changed" in shown(screen, "remarks"))


def _is_kept(app: WorkbenchApp, id: str) -> bool:
    return any(run.id == id for run in app.main.output.runs) and not app.workspace.keeper.is_unsaved
