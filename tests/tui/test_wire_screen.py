"""The wire view: the last request as sent, and every event raw beside the token it gave."""

from __future__ import annotations

import os

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from tests.client.loopback import DONE, STREAM, answering
from tests.tui.scripted import answer, logprob_event, until, workbench
from tests.tui.test_wiring import toasts
from workbench.domain.endpoint import EnvironmentKey
from workbench.tui.app import WorkbenchApp
from workbench.tui.wire.screen import WireScreen

KEY = "sk-proj-Zq81mVt50aLw"


async def opened(app: WorkbenchApp, pilot: Pilot[int]) -> WireScreen:
    """The wire view, with all events read."""
    await pilot.press("e")
    await until(pilot, lambda: isinstance(app.screen, WireScreen) and app.screen.events.is_over)
    assert isinstance(app.screen, WireScreen)
    return app.screen


def raw(screen: WireScreen) -> str:
    """What the lower pane shows."""
    return str(screen.query_one("#raw", Static).render())


async def ran(app: WorkbenchApp, pilot: Pilot[int], runs: int = 1) -> None:
    """A run that has ended, with the output in focus."""
    await pilot.press("ctrl+j")
    await until(pilot, lambda: len(app.main.output.runs) == runs and not app.workspace.runs.is_streaming)
    await pilot.press("f4")


async def test_the_event_of_the_token_under_the_cursor_is_shown_and_its_token_is_gone_back_to() -> None:
    async with workbench(answering(answer(" went", " in", "."))) as (app, pilot, loopback):
        await pilot.press("f4")
        app.action_flow("wire")
        await until(pilot, lambda: "Nothing has been sent" in str(toasts(app)))
        await ran(app, pilot)
        await pilot.press("home", "right")
        screen = await opened(app, pilot)
        await until(pilot, lambda: screen.rows.cursor == 3)
        assert raw(screen) == logprob_event(" in").decode()
        assert screen.rows.cursor + 2 < 2 + len(screen.events)
        await pilot.press("down")
        await until(pilot, lambda: raw(screen) == logprob_event(".", finish_reason="stop").decode())
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        found = app.main.output.token
        assert found is not None
        assert found[2] == 2
        screen = await opened(app, pilot)
        await pilot.press("end", "home")
        await until(pilot, lambda: raw(screen).startswith(f"POST {loopback.base_url}/completions\n"))
        assert loopback.requests[0].body.decode() in raw(screen)
        await pilot.press("c")
        await until(pilot, lambda: app.clipboard.startswith(f"curl {loopback.base_url}/completions"))
        assert "Authorization" not in app.clipboard
        await pilot.press("down", "y")
        await until(pilot, lambda: app.clipboard.startswith("HTTP 200\n"))


async def test_the_key_is_masked_and_hostile_bytes_are_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", KEY)
    hostile = b": \x1b[2J\xff\r [red]\n\n"
    body = hostile + logprob_event(f" {KEY}", finish_reason="stop") + DONE
    async with workbench(answering(body, 200, STREAM, [f"X-Echo: {KEY}"])) as (app, pilot, loopback):
        app.workspace.drafting.use_endpoint(
            app.workspace.drafting.endpoint._replace(
                name="mine",
                key=EnvironmentKey("MINE"),
                headers={"X-Title": "it's"},
            )
        )
        await ran(app, pilot)
        assert loopback.requests[-1].headers["authorization"] == f"Bearer {KEY}"
        screen = await opened(app, pilot)
        seen = []
        for _ in range(5):
            seen.append(raw(screen))
            seen += [str(line.text) for line in (screen.rows.render_line(y) for y in range(6))]
            await pilot.press("y")
            seen.append(app.clipboard)
            await pilot.press("down")
        assert any("Authorization: Bearer •••" in row for row in seen)
        assert any("x-echo: •••" in row for row in seen)
        assert any(r": \e[2J\xff\r [red]" in row for row in seen)
        await pilot.press("c")
        await until(pilot, lambda: app.clipboard.startswith("curl"))
        assert '"Authorization: Bearer $MINE"' in app.clipboard
        assert "X-Title: it" in app.clipboard
        seen.append(app.clipboard)
        await pilot.press("p")
        await until(pilot, lambda: app.clipboard.startswith("import json"))
        compile(app.clipboard, "copied", "exec")
        assert 'os.environ["MINE"]' in app.clipboard
        assert all(KEY not in text for text in [*seen, app.clipboard])
        assert os.environ["MINE"] == KEY


async def test_only_the_last_request_is_kept_and_that_is_said() -> None:
    async with workbench(answering(answer(" went"))) as (app, pilot, _):
        await ran(app, pilot)
        await ran(app, pilot, 2)
        await pilot.press("home")
        screen = await opened(app, pilot)
        assert "from another request" in str(toasts(app))
        assert screen.rows.cursor == 0
