"""Where motion is reduced nothing moves that need not."""

from __future__ import annotations

import os

import pytest
from textual.widgets import Input

from tests.tui.scripted import until
from tests.tui.test_wiring import configure
from workbench.tui.app import WorkbenchApp
from workbench.tui.motion import frame_seconds
from workbench.workspace.services import Services


@pytest.mark.parametrize("is_reduced", [False, True])
async def test_reduced_motion_stops_cursors_and_animations_and_updates_less_often(is_reduced: bool) -> None:
    configure(f"reduced_motion = {str(is_reduced).lower()}\n")
    app = WorkbenchApp(Services.open(dict(os.environ)))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.main.focused is app.main.prompt)
        await until(pilot, lambda: app.main.prompt.cursor_blink is not is_reduced)
        assert app.animation_level == ("none" if is_reduced else "full")
        assert frame_seconds(app) == pytest.approx(1 / 3 if is_reduced else 1 / 30)
        await pilot.press("f4", "slash")
        await until(pilot, lambda: isinstance(app.main.focused, Input))
        find = app.main.query_one("#find", Input)
        await until(pilot, lambda: find.cursor_blink is not is_reduced)
        await app.leave()
