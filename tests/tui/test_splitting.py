"""A request that the endpoint cannot answer in full: several are offered, and shown as one run."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime

import msgspec
from textual.pilot import Pilot

from tests.client.loopback import DONE, Received, answering, event
from tests.tui.scripted import until, use_parameters, workbench
from workbench.domain.parameter_table import Range
from workbench.domain.parameters import Parameters
from workbench.domain.probe_findings import Finding, Probe, ProbeVerdict
from workbench.domain.run import Outcome
from workbench.domain.split import Split
from workbench.storage.files import Folders
from workbench.storage.probes import save_probe
from workbench.tui.app import WorkbenchApp
from workbench.tui.popups.question import Question


async def one_choice(received: Received, writer: asyncio.StreamWriter) -> None:
    """Answer with the seed, and never more than one choice."""
    body = event(f"seed {received.json.get('seed')}", finish_reason="stop") + DONE
    await answering(body)(received, writer)


def draft(app: WorkbenchApp, **values: int) -> None:
    """Hold a draft with some parameters."""
    app.workspace.drafting.set_text("Once")
    use_parameters(app, Parameters(values))


async def question_shown(app: WorkbenchApp, pilot: Pilot[int]) -> str:
    """Run, and give the question that is asked."""
    await pilot.press("f5")
    await until(pilot, lambda: isinstance(app.screen, Question))
    return "\n".join(str(label.render()) for label in app.screen.query("Label"))


def texts(app: WorkbenchApp) -> list[str]:
    """What the newest run answered."""
    return [choice.text for choice in app.main.output.runs[-1].ordered]


async def test_a_profile_that_answers_one_choice_leads_to_an_offer() -> None:
    async with workbench(one_choice) as (app, pilot, loopback):
        app.workspace.drafting.use_endpoint(app.workspace.drafting.endpoint._replace(single_choice=True))
        draft(app, n=3, seed=1)
        question = await question_shown(app, pilot)
        assert "its profile says that it answers one choice a request" in question
        assert "3 requests" in question
        assert loopback.requests == []
        await pilot.press("y")
        await until(pilot, lambda: len(loopback.requests) == 3 and not app.workspace.runs.is_streaming)
        assert texts(app) == ["seed 1", "seed 2", "seed 3"]
        assert "sent as 3 requests" in app.main.output.view.sections[-1].figures
        assert app.main.output.runs[-1].outcome is Outcome.COMPLETE


async def test_no_sends_it_as_it_is_and_escape_sends_nothing() -> None:
    async with workbench(one_choice) as (app, pilot, loopback):
        app.services.config = msgspec.structs.replace(app.services.config, confirm_above=10)
        app.workspace.drafting.use_endpoint(app.workspace.drafting.endpoint._replace(single_choice=True))
        draft(app, n=2, max_tokens=100)
        question = await question_shown(app, pilot)
        assert "up to 200 completion tokens" in question
        assert "Each prompt is processed 2 times." in question
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        assert loopback.requests == []
        draft(app, n=2, max_tokens=4)
        await question_shown(app, pilot)
        await pilot.press("n")
        await until(pilot, lambda: bool(app.main.output.runs) and not app.workspace.runs.is_streaming)
        assert [request.json["n"] for request in loopback.requests] == [2]


async def test_an_answer_that_lacks_choices_leads_to_an_offer_the_next_time() -> None:
    async with workbench(one_choice) as (app, pilot, loopback):
        draft(app, n=2)
        await pilot.press("f5")
        await until(
            pilot, lambda: "server returned 1 of 2 choices" in app.main.output.view.sections[-1].figures
        )
        assert "offers to send one request for each" in app.main.legend.note
        assert "it left choices out of an answer before" in await question_shown(app, pilot)
        await pilot.press("y")
        await until(pilot, lambda: len(loopback.requests) == 3 and not app.workspace.runs.is_streaming)
        assert app.main.output.runs[-1].split == Split(choices=True)


async def test_more_choices_than_the_profile_allows_can_be_asked_for_apart_only() -> None:
    async with workbench(one_choice) as (app, pilot, loopback):
        finding = Finding("n", ProbeVerdict.REFUSED, "")
        probe = Probe(app.workspace.drafting.endpoint.name, "m", datetime.now(UTC), 1, (finding,))
        save_probe(Folders.default(os.environ), probe)
        draft(app, n=2)
        assert "its probe found n refused" in await question_shown(app, pilot)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        app.workspace.drafting.use_endpoint(
            app.workspace.drafting.endpoint._replace(limits={"n": Range(1, 2)})
        )
        draft(app, n=3)
        assert "its profile allows n up to 2" in await question_shown(app, pilot)
        await pilot.press("n")
        await until(pilot, lambda: app.main.output.error.field == "n")
        assert loopback.requests == []
        await question_shown(app, pilot)
        await pilot.press("y")
        await until(pilot, lambda: len(loopback.requests) == 3 and not app.workspace.runs.is_streaming)
