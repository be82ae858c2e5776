"""A branch says where its joint became other tokens, and goes out as token ids where that is wanted."""

from __future__ import annotations

import asyncio
import json

from textual.pilot import Pilot

from tests.client.loopback import Received, answering, head
from tests.tui.scripted import answer, do, until, workbench
from workbench.domain.retokenisation import AS_IDS, RETOKENISED
from workbench.tui.app import WorkbenchApp

TOKENS = {"The lig": ["The", " lig"], "The lig other": ["The", " lig other"], " other": [" other"]}
"""What the endpoint's tokenizer makes of texts."""


async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
    """Complete everything by one answer; tokenise by the table above."""
    if not received.path.endswith("/tokenize"):
        await answering(answer("ht", " on"))(received, writer)
        return
    texts = TOKENS[str(received.json["content"])]
    tokens = [{"id": len(word), "piece": word} for word in texts]
    body = json.dumps({"tokens": tokens}).encode()
    writer.write(head(200, "application/json", len(body)) + body)
    await writer.drain()


async def _branch(app: WorkbenchApp, pilot: Pilot[int]) -> None:
    """Run a prompt that ends within a word, and branch at the first token of the answer."""
    app.workspace.drafting.use_endpoint(app.workspace.drafting.endpoint._replace(tokenizer=True))
    app.workspace.drafting.set_text("The lig")
    await pilot.press("ctrl+j")
    await until(pilot, lambda: len(app.main.output.runs) == 1 and not app.main.output.runs[0].is_running)
    await pilot.press("f4", "home", "2")
    await until(pilot, lambda: len(app.main.output.runs) == 2 and not app.main.output.runs[1].is_running)


async def test_a_changed_joint_is_shown_under_the_branch_and_kept() -> None:
    async with workbench(handle) as (app, pilot, _):
        await _branch(app, pilot)
        note = f"{RETOKENISED}“ lig” + “ other” → “ lig other”"
        assert app.main.output.runs[1].notes == [note]
        assert app.main.output.view.sections[1].figures == f"! {note}"


async def test_a_branch_as_token_ids_is_shown_as_text_and_has_no_joint() -> None:
    async with workbench(handle) as (app, pilot, server):
        await do(app, "branch_ids")
        await _branch(app, pilot)
        sent = [
            request.json["prompt"] for request in server.requests if request.path.endswith("/completions")
        ]
        assert sent == ["The lig", [3, 4, 6]]
        section = app.main.output.view.sections[1]
        assert section.prompt == "The lig other"
        assert section.figures == f"! {AS_IDS}"
        await pilot.press("end", "u")
        assert len(app.main.output.runs) == 1


async def test_without_a_tokenizer_nothing_is_sent_as_token_ids_and_that_is_said() -> None:
    async with workbench(answering(answer(" a"))) as (app, pilot, server):
        await do(app, "branch_ids")
        await pilot.press("ctrl+j")
        await until(pilot, lambda: len(app.main.output.runs) == 1 and not app.main.output.runs[0].is_running)
        await pilot.press("f4", "home", "2")
        await until(pilot, lambda: app.main.output.error.display)
        assert len(server.requests) == 1
