"""The probe screen: it says what it would send, sends it when told, and keeps what it found."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime

from textual.pilot import Pilot

from tests.client.loopback import Received, answering, event, hanging
from tests.runner.toy_endpoint import Toy
from tests.tui.scripted import until, workbench
from workbench.domain.endpoint import Endpoint
from workbench.domain.probe_findings import Finding, Probe, ProbeVerdict
from workbench.storage.files import Folders
from workbench.storage.probes import load_probe, save_probe
from workbench.tui.app import WorkbenchApp
from workbench.tui.popups.key_row import KeyRow
from workbench.tui.probe.screen import ProbeScreen


async def open_probe(app: WorkbenchApp, pilot: Pilot[int]) -> ProbeScreen:
    """The screen, opened by name as a person finds it."""
    await pilot.press("ctrl+p", *"probe", "enter")
    await until(pilot, lambda: isinstance(app.screen, ProbeScreen))
    screen = app.screen
    assert isinstance(screen, ProbeScreen)
    return screen


def text_of(screen: ProbeScreen, id: str) -> str:
    """What one part of the screen says."""
    return str(screen.query_one(f"#{id}").render())


async def test_what_would_be_sent_is_told_first_and_each_finding_is_shown() -> None:
    toy = Toy(ignored=frozenset({"min_p"}), refused=frozenset({"best_of"}))
    async with toy.serve() as url, workbench(answering(b""), (80, 24)) as (app, pilot, _):
        app.workspace.drafting.use_endpoint(Endpoint("toy", url))
        screen = await open_probe(app, pilot)
        assert "at most 22 tiny requests, of at most 12 tokens a choice" in text_of(screen, "now")
        assert toy.bodies == []
        await pilot.press("enter")
        await until(pilot, lambda: text_of(screen, "now").startswith("Done"))
        await until(pilot, lambda: "Esc Close" in screen.query_one(KeyRow).render().plain)
        assert len(toy.bodies) <= 22
        rows = [[str(cell) for cell in screen.table.get_row_at(at)] for at in range(screen.table.row_count)]
        assert ["–", "min_p"] in [row[:2] for row in rows]
        assert ["✗", "best_of"] in [row[:2] for row in rows]
        assert "1 refused" in text_of(screen, "about")
        kept = load_probe(Folders.default(os.environ), "toy")
        assert kept is not None
        assert [finding.name for finding in kept.findings] == [row[1] for row in rows]
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        await pilot.press("f3")
        await until(pilot, lambda: app.main.parameters.has_focus)
        app.main.parameters.go_to("min_p")
        assert any(
            "has no effect at this endpoint: at 1 still" in line for line in app.main.parameters._help()
        )
        app.main.parameters.go_to("best_of")
        assert any("is refused here: 400" in line for line in app.main.parameters._help())


async def test_stopping_keeps_what_was_found_and_closes_the_connection() -> None:
    reached = asyncio.Event()

    async def two_then_silence(received: Received, writer: asyncio.StreamWriter) -> None:
        if "temperature" in received.json and received.json["temperature"] == 2:
            reached.set()
            await hanging()(received, writer)
        else:
            await answering(event(" in the sea", finish_reason="length"))(received, writer)

    async with workbench(two_then_silence) as (app, pilot, loopback):
        screen = await open_probe(app, pilot)
        await pilot.press("enter")
        await until(pilot, reached.is_set)
        assert "Esc Stop" in screen.query_one(KeyRow).render().plain
        await pilot.press("escape")
        await until(pilot, lambda: text_of(screen, "now").startswith("Stopped. 4 requests sent."))
        await asyncio.wait_for(loopback.requests[-1].gone.wait(), 10)
        kept = load_probe(Folders.default(os.environ), app.workspace.drafting.endpoint.name)
        assert kept is not None
        assert kept.is_partial
        assert kept.verdict("greedy repeats") is ProbeVerdict.HONOURED
        assert "stopped" in text_of(screen, "about")


async def test_an_endpoint_that_answers_nothing_is_told_and_keeps_what_was_known() -> None:
    before = Probe("toy", "m", datetime.now(UTC), 1, (Finding("n", ProbeVerdict.REFUSED, "no"),))
    save_probe(Folders.default(os.environ), before)
    async with Toy(status=401).serve() as url, workbench(answering(b"")) as (app, pilot, _):
        app.workspace.drafting.use_endpoint(Endpoint("toy", url))
        screen = await open_probe(app, pilot)
        assert "Below is what was found on" in text_of(screen, "now")
        await pilot.press("enter")
        await until(pilot, lambda: "401" in text_of(screen, "now"))
        assert text_of(screen, "now").endswith(". 1 request sent.")
        assert load_probe(Folders.default(os.environ), "toy") == before
        assert screen.table.row_count == 1
