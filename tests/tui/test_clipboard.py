"""Selecting and copying: exact text, from every pane, and word of where it went."""

from __future__ import annotations

import asyncio
import os
from base64 import b64encode
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from tests.client.loopback import JSON, answering, in_turn
from tests.tui.scripted import answer, until, workbench
from tests.tui.test_main_screen import has_ended
from tests.tui.test_wiring import toasts
from workbench.tui.terminal import MOST, copied, copy_through_tmux


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is sent to the terminal's clipboard."""
    pieces: list[str] = []
    driver = "textual.drivers.headless_driver.HeadlessDriver"
    monkeypatch.setattr(f"{driver}.write", lambda _, data: pieces.append(data) if "52;" in data else None)
    return pieces


async def drag(pilot: Pilot[int], widget: str, start: tuple[int, int], end: tuple[int, int]) -> None:
    """Select with the mouse."""
    await pilot.mouse_down(widget, offset=start)
    await pilot.hover(widget, offset=end)
    await pilot.mouse_up(widget, offset=end)


async def test_a_copy_goes_to_the_terminal_and_says_how_much_went_where(written: list[str]) -> None:
    async with workbench(answering(answer(" é"))) as (app, pilot, _):
        app.copy_to_clipboard(" é\x1b\ud800")
        await pilot.pause()
        assert app.clipboard == " é\x1b\ud800"
        assert written == ["\x1b]52;c;" + b64encode(" é\x1b?".encode()).decode() + "\a"]
        assert toasts(app) == ['Copied " é\\e\\ud800"']
        app.copy_to_clipboard("")
        app.copy_to_clipboard("x" * (MOST + 1))
        await pilot.pause()
        assert len(written) == 1
        assert len(app.clipboard) == MOST + 1
        assert "here only" in toasts(app)[1]


@pytest.mark.parametrize(("status", "expected"), [(0, 'Copied "é"'), (1, "only with `set-clipboard on`")])
async def test_within_tmux_a_copy_goes_through_it(tmp_path: Path, status: int, expected: str) -> None:
    tmux = tmp_path / "tmux"
    tmux.write_text(f'#!/bin/sh\ncat > "{tmp_path}/took"\nexit {status}\n')
    tmux.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    async with asyncio.timeout(10):
        taken = await copy_through_tmux("é\n".encode(), environment)
    assert (tmp_path / "took").read_text("utf-8") == "é\n"
    assert expected in copied("é", tmux=taken)


async def test_without_a_tmux_to_ask_nothing_is_claimed(tmp_path: Path) -> None:
    assert not await copy_through_tmux(b"x", {"PATH": str(tmp_path)})


async def test_ctrl_c_copies_what_the_mouse_selected_once_and_then_stops_again() -> None:
    refused = answering(b'{"error":{"message":"no [b]such\\u001b model"}}', 404, JSON)
    async with workbench(in_turn(answering(answer(" went", " in")), refused)) as (app, pilot, _):
        await drag(pilot, "#prompt", (2, 1), (5, 1))
        await pilot.press("ctrl+c")
        assert app.clipboard == app.main.prompt.selected_text == "The"
        await pilot.press("f5")
        await until(pilot, lambda: has_ended(app, 1))
        begin = len("The lighthouse keeper opened the door and")
        await pilot.press("f4")
        await drag(pilot, "TokenView", (begin, 1), (begin + 4, 1))
        await pilot.press("ctrl+c")
        assert app.clipboard == " went"
        assert not app.main.output.view.selected_text()
        await pilot.press("left", "i", "down", "y")
        assert app.clipboard == " other"
        await pilot.press("f5")
        await until(pilot, lambda: app.main.output.error.display)
        await drag(pilot, "ErrorBlock #what", (0, 0), (1, 0))
        await pilot.press("ctrl+c")
        assert app.clipboard == "no"


async def test_an_error_is_copied_whole_with_where_it_happened() -> None:
    long = "x" * 200
    refused = answering(b'{"error":{"message":"no [b]such\\u001b ' + long.encode() + b'"}}', 404, JSON)
    async with workbench(refused) as (app, pilot, loopback):
        app.action_flow("copy_error")
        await until(pilot, lambda: any("No error to copy" in toast for toast in toasts(app)))
        assert not app.clipboard
        await pilot.press("f5")
        await until(pilot, lambda: app.main.output.error.display)
        copy = next(
            static for static in app.main.output.error.query(Static) if str(static.render()) == "Copy"
        )
        await pilot.click(copy)
        await until(pilot, lambda: bool(app.clipboard))
        assert f"no [b]such\\e {long}" in app.clipboard
        assert loopback.base_url in app.clipboard
