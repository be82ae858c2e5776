"""The session and its runs are written from the screen in the forms that the command line writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.client.loopback import answering
from tests.tui.scripted import answer, until, workbench
from tests.tui.test_wiring import toasts
from workbench.tui.app import WorkbenchApp
from workbench.tui.popups.picker import Picker
from workbench.tui.popups.question import LinePopup, Question


async def _export(app: WorkbenchApp, pilot: Pilot[int], form: str, path: Path) -> None:
    app.main.do("export")
    await until(pilot, lambda: isinstance(app.screen, Picker))
    await pilot.press(*form, "enter")
    await until(pilot, lambda: isinstance(app.screen, LinePopup))
    app.screen.query_one(Input).value = str(path)
    await pilot.press("enter")


async def test_a_session_and_a_run_are_written_and_replaced_only_after_a_question(tmp_path: Path) -> None:
    async with workbench(answering(answer(" went", " in"))) as (app, pilot, _):
        main = app.main
        main.do("export")
        await until(pilot, lambda: main.output.error.has_class("-shown"))
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(main.output.runs) and not main.output.runs[0].is_running)
        lines, picture = tmp_path / "runs.jsonl", tmp_path / "run.svg"
        await _export(app, pilot, "lines", lines)
        await until(pilot, lambda: any("Wrote" in toast for toast in toasts(app)))
        assert json.loads(lines.read_text())["choices"][0]["text"] == " went in"
        await _export(app, pilot, "svg", picture)
        await until(pilot, lambda: app.screen is main and b"</svg>" in _bytes(picture))
        await _export(app, pilot, "svg", lines)
        await until(pilot, lambda: isinstance(app.screen, Question))
        await pilot.press("n")
        await until(pilot, lambda: app.screen is main)
        assert lines.read_text().startswith("{")


@pytest.mark.parametrize("name", ["itself", "x" * 300])
async def test_a_session_never_replaces_itself_and_an_impossible_name_is_told(
    tmp_path: Path, name: str
) -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, _):
        keeper = app.workspace.keeper
        await pilot.press("ctrl+j")
        await until(pilot, lambda: keeper.path is not None and not keeper.is_unsaved)
        assert keeper.path is not None
        before = _bytes(keeper.path)
        await _export(app, pilot, "text", keeper.path if name == "itself" else tmp_path / name)
        expected = "the session itself" if name == "itself" else "too long"
        await until(pilot, lambda: any(expected in toast for toast in toasts(app)))
        assert _bytes(keeper.path) == before


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""
