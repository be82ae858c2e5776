"""What is said while a run waits to be sent again, and of answers that are not what was asked for."""

from __future__ import annotations

import json

from tests.client.loopback import DONE, JSON, answering, in_turn
from tests.tui.scripted import answer, until, use_parameters, workbench
from workbench.domain.run import Outcome
from workbench.tui.app import WorkbenchApp

BUSY = answering(b'{"error":{"message":"slow [down]"}}', 429, JSON, ["Retry-After: 60"])


def figures(app: WorkbenchApp) -> str:
    """What stands below the newest answer."""
    return app.main.output.view.sections[-1].figures


async def test_the_wait_before_another_attempt_is_counted_down_and_can_be_cancelled() -> None:
    async with workbench(BUSY) as (app, pilot, loopback):
        app.workspace.drafting.use_endpoint(app.workspace.drafting.endpoint._replace(retries=2))
        await pilot.press("ctrl+j")
        await until(pilot, lambda: "retrying in" in figures(app))
        assert "◌ Too many requests (HTTP 429): slow [down]" in figures(app)
        assert "(attempt 2 of 3) · Esc cancels" in figures(app)
        assert "retrying in 6" in str(app.main.header.state)
        first = figures(app)
        await until(pilot, lambda: figures(app) != first)
        assert "retrying in" in figures(app)
        await pilot.press("escape")
        await until(pilot, lambda: not app.workspace.runs.is_streaming)
        assert app.main.output.runs[-1].outcome is Outcome.STOPPED
        assert "retrying in" not in figures(app)
        assert len(loopback.requests) == 1


async def test_after_the_wait_the_answer_takes_the_countdown_s_place() -> None:
    soon = answering(b"", 503, JSON, ["retry-after-ms: 300"])
    async with workbench(in_turn(soon, answering(answer(" went")))) as (app, pilot, _):
        app.workspace.drafting.use_endpoint(app.workspace.drafting.endpoint._replace(retries=1))
        await pilot.press("ctrl+j")
        await until(pilot, lambda: "The endpoint is not ready" in figures(app))
        await until(pilot, lambda: " · done · " in app.main.output.view.sections[-1].title)
        assert "again" not in figures(app)


async def test_what_is_odd_about_an_answer_is_said_once_below_its_last_choice() -> None:
    choices = [{"index": index, "text": " a", "finish_reason": "stop"} for index in range(2)]
    body = f"data: {json.dumps({'model': 'other/[one]', 'choices': choices})}\n\n".encode() + DONE
    async with workbench(answering(body)) as (app, pilot, _):
        app.workspace.drafting.use_endpoint(
            app.workspace.drafting.endpoint._replace(drop=frozenset({"n"}), model="mine")
        )
        use_parameters(app, app.main.parameters.parameters.set("n", 3))
        await pilot.press("ctrl+j")
        if app.screen is not app.main:
            await pilot.press("n")
        await until(pilot, lambda: " · done · " in app.main.output.view.sections[-1].title)
        shown = "\n".join(section.figures for section in app.main.output.view.sections)
        for note in (
            "! server returned 2 of 3 choices",
            "! answered by other/[one], not mine",
            "! logprobs were requested, but none were returned",
            "! not sent, as this endpoint does not take it: n",
        ):
            assert shown.count(note) == 1
            assert note in figures(app)
