"""Makes the README's pictures anew, of the application on the embedded model: `python -m tests.pictures`."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

from textual.pilot import Pilot

from tests.tui.scripted import until, use_parameters
from workbench.tui.app import WorkbenchApp
from workbench.workspace.services import Services

FOLDER = Path(__file__).resolve().parents[1] / ".pictures"
SEED = 4
COMPARED = 32
"""Tokens of each column of the comparison."""


def shoot(app: WorkbenchApp, name: str) -> None:
    """Write what the screen shows."""
    # Without this a browser joins the blanks between words that stand in columns.
    picture = app.export_screenshot().replace("<svg ", '<svg xml:space="preserve" ', 1)
    (FOLDER / f"{name}.svg").write_text(picture, encoding="utf-8")


async def until_still(app: WorkbenchApp, pilot: Pilot[int], runs: int) -> None:
    """Wait until so many runs are over."""
    for _ in range(60):
        if len(app.main.output.runs) >= runs and not app.workspace.runs.is_streaming:
            break
        await pilot.pause(1)
    await pilot.pause(0.5)


async def main() -> None:
    """Run the example, look at a surprising token, and compare presets on it."""
    with tempfile.TemporaryDirectory() as home:
        # The terminal's colours are read from the process itself.
        os.environ.update(WORKBENCH_HOME=home, COLORTERM="truecolor", TERM="xterm-256color")
        app = WorkbenchApp(Services.open(os.environ))
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: app.main.focused is app.main.prompt)
            parameters = app.main.parameters.parameters
            use_parameters(app, parameters.set("temperature", 0.8).set("seed", SEED))
            await pilot.press("ctrl+j")
            await until_still(app, pilot, 1)
            await pilot.press("f4", "home", *["right_square_bracket"] * 9)
            await pilot.pause(0.5)
            shoot(app, "main")
            await pilot.resize_terminal(80, 24)
            await pilot.pause(0.5)
            shoot(app, "narrow")
            await pilot.resize_terminal(120, 40)
            use_parameters(app, parameters.set("max_tokens", COMPARED).set("seed", SEED))
            await pilot.press("f8", "enter")
            await until_still(app, pilot, 5)
            await pilot.press("d")
            await pilot.pause(0.5)
            shoot(app, "compare")
            await pilot.press("escape")
            await app.leave()


if __name__ == "__main__":
    asyncio.run(main())
