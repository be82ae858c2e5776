"""The record of an exchange: bounded, without the key, and every event beside the tokens it gave."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.client.cases import Case, answer_events, cut, recordings, run_of, wire_cases
from tests.client.loopback import JSON, STREAM, answering, event, hanging, head, in_turn, serving
from workbench.client import wire_log as wire_module
from workbench.client.client import Client
from workbench.client.keys import Secret
from workbench.client.wire_log import WireEvents, WireLog
from workbench.domain.endpoint import EnvironmentKey
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.runner.connections import Connections

KEY = "sk-proj-Zq81mVt50aLw"


def recorded(pieces: Iterable[bytes], status: int = 200) -> WireLog:
    """The record of an answer that came in these pieces, a second apart."""
    log = WireLog()
    log.sending("POST", "http://h/v1/completions", {}, b"{}")
    log.answered(status, {})
    for at, chunk in enumerate(pieces, 1):
        log.received(at, chunk)
    log.is_over = True
    return log


def all_events(log: WireLog) -> WireEvents:
    """Every event of a record."""
    events = WireEvents(log)
    while not events.is_over:
        events.read(1)
    return events


@pytest.mark.parametrize("case", [*wire_cases(), *recordings()], ids=str)
def test_every_token_is_found_beside_the_event_that_gave_it(case: Case) -> None:
    run = run_of(answer_events([case.body], case.status))
    for pieces in ([case.body], cut(case.body, 7)):
        events = all_events(recorded(pieces, case.status))
        assert b"".join(events[index].raw for index in range(len(events))) == case.body
        for choice in run.ordered:
            found = [events.event_of(choice.index, token) for token in range(len(choice))]
            # An echoed prompt's last token may be parted where the answer begins.
            assert found == sorted(number for number in found if number is not None) or choice.echoed
            for token, number in enumerate(found):
                assert number is not None
                gave = [part for part in events[number].gave if part.choice == choice.index]
                assert any(part.first <= token < part.first + part.count for part in gave)
            assert events.event_of(choice.index, len(choice) + 1) is None


def test_a_record_that_grows_is_read_as_it_grows() -> None:
    log = WireLog()
    log.sending("POST", "http://h/v1/completions", {}, b"{}")
    log.answered(200, {})
    events = WireEvents(log)
    assert not events.read(1)
    log.received(0.5, event(" a") + event(" b")[:20])
    assert events.read(1)
    assert (len(events), events[0].at) == (1, 0.5)
    log.received(0.7, event(" b")[20:] + b": ping\n\n" + event(" c")[:-1])
    events.read(1)
    assert [events[index].at for index in range(len(events))] == [0.5, 0.7, 0.7]
    assert events[2].gave == ()
    log.is_over = True
    events.read(1)
    assert events.is_over
    assert [events.event_of(0, token) for token in range(4)] == [0, 1, 3, None]


def test_a_record_keeps_no_more_than_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire_module, "MOST_KEPT", 1000)
    log = recorded([b"x"] * 5000)
    assert log.size == 5000
    assert not log.is_whole
    assert len(log.answer) + 16 * log.count <= 1000
    assert len(log.answer) > 50
    log = recorded([b"x" * 900, b"y" * 900, b"z"])
    assert (bytes(log.answer), log.size) == (b"x" * 900, 1801)


async def test_the_last_attempt_is_kept_with_the_key_masked_and_never_in_a_representation() -> None:
    busy = answering(b'{"error":"busy"}', 503, JSON, ["Retry-After: 0"])
    async with serving(in_turn(busy, answering(event(f" {KEY}"), content_type=STREAM))) as loopback:
        log, connections = WireLog(), Connections({"K": KEY})
        run = Run(Request(TextPrompt("Hi"), "m"))
        await connections.send(loopback.endpoint(key=EnvironmentKey("K"), retries=1), run, wire=log)
        await connections.aclose()
        assert loopback.requests[-1].headers["authorization"] == f"Bearer {KEY}"
        assert log.headers["Authorization"] == "Bearer •••"
        assert log.body == loopback.requests[-1].body
        assert (log.attempts, log.status, log.is_over, log.is_whole) == (2, 200, True, True)
        assert KEY not in repr(log)
        assert KEY not in log.key.redact(log.answer.decode())


async def test_a_record_ends_however_the_exchange_does() -> None:
    async with serving(hanging(head() + event(" a"))) as loopback:
        log, client = WireLog(), Client({})
        stream = client.stream(loopback.endpoint(), Request(TextPrompt("Hi")), wire=log)
        async for _ in stream:
            if log.count:
                break
        await stream.aclose()
        assert log.is_over
        await client.aclose()
    log, client = WireLog(key=Secret(KEY)), Client({})
    async for _ in client.stream(loopback.endpoint(retries=0), Request(TextPrompt("Hi")), wire=log):
        pass
    await client.aclose()
    assert log.is_over
    assert all_events(log).is_over
