"""Saved runs in the compare screen: of the open session and of others, without sending anything."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import OptionList

from tests.client.loopback import answering
from tests.domain.builders import choice_of, run_of, token_of
from tests.tui.scripted import answer, until, workbench
from tests.tui.test_sessions_screen import keep
from tests.tui.test_wiring import toasts
from workbench.domain.parameters import Parameters
from workbench.domain.run import Run
from workbench.tui.app import WorkbenchApp
from workbench.tui.compare.column import CompareColumn
from workbench.tui.compare.screen import CompareScreen
from workbench.tui.popups.multi_picker import MultiPicker
from workbench.tui.popups.picker import Picker
from workbench.tui.sessions.screen import SessionsScreen


def saved(*texts: str, temperature: float) -> Run:
    """A run of the test's endpoint that is over."""
    made = run_of(choice_of([token_of(text, 0.5, other=0.25) for text in texts]))
    made.request = type(made.request)(made.request.prompt, "", Parameters({"temperature": temperature}))
    return made


def columns(app: WorkbenchApp) -> list[CompareColumn]:
    """The columns on the screen."""
    return list(app.screen.query(CompareColumn))


def titles(app: WorkbenchApp) -> list[str]:
    """What the columns are called."""
    return [str(column.border_title) for column in columns(app)]


def show(app: WorkbenchApp, runs: list[Run]) -> None:
    """Have runs in the open session."""
    app.workspace.runs.add(runs)


async def compared(app: WorkbenchApp, pilot: Pilot[int], count: int) -> None:
    """Wait for the compare screen with that many columns."""
    await until(pilot, lambda: isinstance(app.screen, CompareScreen) and len(columns(app)) == count)
    await until(pilot, lambda: all(column.border_title for column in columns(app)))


async def test_v_compares_runs_of_the_open_session_and_their_parameters_can_be_adopted() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, loopback):
        show(app, [saved(" a", " b", temperature=0.1), saved(" a", " c", temperature=0.9)])
        await pilot.press("f4", "v")
        await until(pilot, lambda: isinstance(app.screen, MultiPicker))
        await pilot.press("enter")
        await compared(app, pilot, 2)
        assert titles(app) == ["run 1 · temperature 0.1", "run 2 · temperature 0.9"]
        assert all(column.view.sections[0].marked == 1 for column in columns(app))
        assert "nothing is sent" in str(app.screen.query_one("#about").render())
        await pilot.press("tab", "a")
        await until(pilot, lambda: app.screen is app.main)
        assert app.main.parameters.parameters.get("temperature") == 0.9
        assert app.workspace.drafting.endpoint.name == loopback.base_url
        assert not loopback.requests


async def test_a_run_of_another_session_is_compared_with_one_of_this() -> None:
    path = keep("elsewhere", " b")
    async with workbench(answering(answer(" in"))) as (app, pilot, loopback):
        show(app, [saved(" a", temperature=0.1)])
        await pilot.press("f4", "v")
        await until(pilot, lambda: isinstance(app.screen, MultiPicker))
        app.screen.query_one(OptionList).highlighted = 0
        await pilot.press("space", "enter")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await until(pilot, lambda: app.screen.query_one(OptionList).option_count == 1)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, MultiPicker))
        await pilot.press("space", "enter")
        await compared(app, pilot, 2)
        assert titles(app)[0].startswith("run 1") and titles(app)[1].startswith(f"{path.stem} 1")
        assert not loopback.requests


async def test_from_the_sessions_screen_runs_of_both_sessions_are_offered(tmp_path: Path) -> None:
    keep("elsewhere", " b")
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        show(app, [saved(" a", temperature=0.1)])
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, SessionsScreen) and len(app.screen.shown) == 1)
        await pilot.press("ctrl+k")
        await until(pilot, lambda: isinstance(app.screen, MultiPicker))
        await pilot.press("space", "down", "space", "enter")
        await compared(app, pilot, 2)
        assert {column.choice.text for column in columns(app) if column.choice} == {" a", " b"}


async def test_a_scoring_has_no_settings_to_adopt() -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        texts = [saved(" a", " b", temperature=0.0) for _ in range(2)]
        for run in texts:
            run.choices[0].echoed = 2
        show(app, texts)
        before = app.workspace.drafting.parameters
        await pilot.press("f4", "v")
        await until(pilot, lambda: isinstance(app.screen, MultiPicker))
        await pilot.press("enter")
        await compared(app, pilot, 2)
        await pilot.press("a")
        await until(pilot, lambda: any("none to adopt" in toast for toast in toasts(app)))
        assert isinstance(app.screen, CompareScreen)
        assert app.workspace.drafting.parameters == before
