"""Counts of one are in the singular."""

from __future__ import annotations

import pytest

from tests.client.loopback import JSON, answering
from tests.tui.scripted import answer, until, workbench
from tests.tui.test_sessions_screen import keep, library
from workbench.chat.rendered_prompt import Rendered
from workbench.chat.truncation import Fitted
from workbench.domain.conversation import Conversation
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.runner.chat_request import ChatRequest
from workbench.tui.chat.chat_header import gauge_of
from workbench.tui.compare.flow import other_sessions
from workbench.tui.popups.picker import Picker
from workbench.tui.popups.popup import Box
from workbench.tui.wire.screen import WireScreen


@pytest.mark.parametrize(("dropped", "shown"), [(1, "1 turn left out"), (2, "2 turns left out")])
def test_the_turns_left_out_of_a_prompt(dropped: int, shown: str) -> None:
    fitted = Fitted(Conversation(()), 10, range(dropped))
    gauge = gauge_of(ChatRequest(Request(TextPrompt("Hi")), Rendered("Hi", ()), left_out=fitted, context=100))
    assert shown in str(gauge)


async def test_the_other_sessions_and_their_runs() -> None:
    keep("elsewhere", " b")
    items, note = await other_sessions(library(), None)
    assert note.startswith("1 other session ·")
    assert items[0].detail.startswith("1 run ·")
    keep("and elsewhere", " b")
    assert (await other_sessions(library(), None)).note.startswith("2 other sessions ·")


async def test_the_models_of_an_endpoint() -> None:
    models = answering(b'{"data":[{"id":"only/model"}]}', content_type=JSON)
    async with workbench(models) as (app, pilot, _):
        app.action_flow("choose_model")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        await until(pilot, lambda: "1 model ·" in str(app.screen.query_one(Box).border_subtitle))


async def test_the_events_of_an_answer() -> None:
    async with workbench(answering(answer(" one").replace(b"data: [DONE]\n\n", b""))) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and not app.workspace.runs.is_streaming)
        await pilot.press("f4", "e")
        await until(pilot, lambda: isinstance(app.screen, WireScreen) and app.screen.events.is_over)
        await until(pilot, lambda: " 1 event ·" in str(app.screen.query_one("#about").render()))
