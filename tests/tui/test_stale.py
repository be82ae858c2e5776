"""What the panes show is of the runs that are shown: nothing is left of those that are gone."""

from __future__ import annotations

import asyncio

import pytest
from textual.pilot import Pilot

from tests.client.loopback import Received, answering, head
from tests.domain.builders import run_of
from tests.tui.scripted import answer, logprob_event, until, workbench
from tests.tui.test_sessions_on_screen import run_once
from workbench.domain.choice import Choice, ReceivedToken
from workbench.tui.app import WorkbenchApp
from workbench.tui.replay.screen import ReplayScreen
from workbench.tui.sessions.screen import SessionsScreen
from workbench.workspace.run_state import IDLE


def inspected(app: WorkbenchApp) -> str:
    """What the inspector and the row in its place show."""
    return f"{app.main.inspector.body.render()}{app.main.strip.render()}"


def shows_nothing(app: WorkbenchApp) -> bool:
    """Whether no pane shows anything of a run."""
    main = app.main
    return (
        "went" not in inspected(app)
        and main.header.state == IDLE
        and main.output.bars._peaks is None
        and str(main.output.border_subtitle) == ""
        and main.legend.scale.fitted_to == ""
    )


async def look_at_token(app: WorkbenchApp, pilot: Pilot[int]) -> None:
    """Have one run, at a temperature that its colours are fitted to, and stand on its first token."""
    await pilot.press("f3")
    app.main.go_to("temperature")
    await pilot.press("1", ".", "5", "enter", "f2")
    await run_once(app, pilot)
    await pilot.press("f4", "right")
    await until(pilot, lambda: "went" in inspected(app) and app.main.header.state.word == "done")
    assert app.main.legend.scale.fitted_to


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
@pytest.mark.parametrize("keys", [("ctrl+n",), ("x",)], ids=["new session", "deleted run"])
async def test_nothing_is_left_of_runs_that_are_gone(keys: tuple[str, ...], size: tuple[int, int]) -> None:
    async with workbench(answering(answer(" went"))) as (app, pilot, _):
        await look_at_token(app, pilot)
        await pilot.press(*keys)
        await until(pilot, lambda: not app.main.output.runs)
        await until(pilot, lambda: shows_nothing(app))


async def test_an_undone_deletion_brings_back_what_the_panes_showed() -> None:
    async with workbench(answering(answer(" went"))) as (app, pilot, _):
        await look_at_token(app, pilot)
        await pilot.press("x")
        await until(pilot, lambda: shows_nothing(app))
        await pilot.press("u")
        await until(pilot, lambda: app.main.header.state.word == "done")
        await pilot.press("right")
        await until(pilot, lambda: "went" in inspected(app))
        await pilot.press("U")
        await until(pilot, lambda: shows_nothing(app))


async def test_a_session_that_is_opened_shows_its_own_parameters_in_what_if() -> None:
    async with workbench(answering(answer(" went"))) as (app, pilot, _):
        await run_once(app, pilot)
        await pilot.press("ctrl+n")
        await until(pilot, lambda: not app.main.output.runs)
        await pilot.press("f3")
        app.main.go_to("temperature")
        await pilot.press("1", ".", "5", "enter")
        await until(pilot, lambda: app.main.inspector._sampling.temperature == 1.5)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, SessionsScreen) and len(app.screen.shown) > 0)
        await pilot.press("down", "enter")
        await until(pilot, lambda: len(app.main.output.runs) == 1)
        await until(pilot, lambda: app.main.inspector._sampling.temperature is None)


async def test_a_token_of_a_growing_answer_has_no_count_until_the_answer_ended() -> None:
    go = asyncio.Event()

    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head() + logprob_event(" went"))
        await writer.drain()
        await go.wait()
        writer.write(answer(" in", "."))
        await writer.drain()

    async with workbench(handle) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and app.main.output.runs[0].tokens == 1)
        await pilot.press("f4", "right", "i", "down")
        await until(pilot, lambda: "token 1" in inspected(app))
        assert "token 1/" not in inspected(app)
        row = app.main.inspector._row
        go.set()
        await until(pilot, lambda: "token 1/3" in inspected(app))
        assert app.main.inspector._row == row > 0


async def test_a_replay_that_begins_again_shows_no_token_of_the_last_time() -> None:
    late = Choice(0)
    late.append(ReceivedToken(" went", -0.1), 1000.0)
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        screen = ReplayScreen(run_of(late), "run 1")
        app.push_screen(screen)
        await until(pilot, lambda: app.screen is screen)
        await pilot.press("s")
        await until(pilot, lambda: "went" in str(screen.inspector.body.render()))
        await pilot.press("r")
        await until(pilot, lambda: "went" not in f"{screen.inspector.body.render()}{screen.strip.render()}")
