"""The local model starts under a run that is stopped, and the next run is answered."""

from __future__ import annotations

import os

import psutil
import pytest

from tests.tui.scripted import until
from workbench.domain.run import Outcome
from workbench.runner.local_server import KEY_VARIABLE
from workbench.tui.app import WorkbenchApp
from workbench.workspace.services import Services

pytestmark = pytest.mark.slow


def servers() -> list[psutil.Process]:
    """The local servers that this process has started for a run, with the key of runs."""
    return [child for child in psutil.Process().children() if KEY_VARIABLE in child.cmdline()]


async def test_escape_while_the_local_model_starts_does_not_break_the_next_run() -> None:
    app = WorkbenchApp(Services.open(dict(os.environ)))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.screen is app.main and app.main.focused is not None)
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(servers()))
        await pilot.press("escape")
        await until(pilot, lambda: not app.workspace.runs.is_streaming)
        await pilot.press("ctrl+j")
        await until(pilot, lambda: len(app.main.output.runs) == 2 and not app.workspace.runs.is_streaming)
        assert [run.outcome for run in app.main.output.runs] == [Outcome.STOPPED, Outcome.COMPLETE]
        await app.leave()
    assert servers() == []


async def test_leaving_while_the_local_model_starts_leaves_no_process() -> None:
    app = WorkbenchApp(Services.open(dict(os.environ)))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.screen is app.main and app.main.focused is not None)
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(servers()))
        await app.leave()
    assert servers() == []
