"""Several requests shown as one run: joined as they come, with what was sent kept honestly."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.client.loopback import DONE, JSON, Loopback, Received, answering, event, head, serving
from tests.storage.session_cases import received
from workbench.domain.endpoint import Endpoint
from workbench.domain.parameter_table import Range
from workbench.domain.parameters import Parameters
from workbench.domain.probe_findings import Finding, Probe, ProbeVerdict
from workbench.domain.prompt import TextPrompt, TextsPrompt, TokenListsPrompt, prompt_from_json
from workbench.domain.request import Request
from workbench.domain.rerun_check import check_run
from workbench.domain.run import Outcome, Run, Usage
from workbench.domain.session import Session
from workbench.domain.split import NOT_SPLIT, Split, left_out
from workbench.runner.connections import Connections
from workbench.runner.replayed_run import Replay
from workbench.runner.split_run import Quirks, offer_split
from workbench.storage.journal import Increments
from workbench.storage.json_lines import to_json_lines
from workbench.storage.session_store import SessionStore

APART = Split(choices=True)
REQUEST = Request(TextPrompt("p"), "m", Parameters({"n": 3, "seed": 5, "max_tokens": 4}))


async def echoing(received: Received, writer: asyncio.StreamWriter) -> None:
    """Answer with prompt and seed, as a server that knows neither `n` nor lists of prompts."""
    body = received.json
    text = f"{body['prompt']}{body.get('seed', '')}"
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    events = event(text, id=f"id-{text}", model="m") + event("!", finish_reason="stop", usage=usage) + DONE
    await answering(events)(received, writer)


async def sent(loopback: Loopback, run: Run, **fields: object) -> Run:
    connections = Connections({})
    try:
        await connections.send(loopback.endpoint(**fields), run)
    finally:
        await connections.aclose()
    return run


async def test_choices_asked_for_one_by_one_are_one_run() -> None:
    async with serving(echoing) as loopback:
        run = await sent(loopback, Run(REQUEST, split=APART))
    assert [choice.text for choice in run.ordered] == ["p5!", "p6!", "p7!"]
    assert [choice.index for choice in run.ordered] == [0, 1, 2]
    assert run.outcome is Outcome.COMPLETE
    assert run.usage == Usage(3, 6, 9)
    assert "sent as 3 requests, one for each choice, with seeds 5 to 7" in run.notes
    assert not any("returned" in note for note in run.notes)
    assert all("n" not in request.json for request in loopback.requests)
    assert sorted(map(json.dumps, (request.json for request in loopback.requests))) == sorted(
        map(json.dumps, run.bodies)
    )
    assert run.request == REQUEST


async def test_prompts_one_by_one_are_told_without_seeds() -> None:
    request = Request(TextsPrompt(("a", "b")), "m")
    async with serving(echoing) as loopback:
        run = await sent(loopback, Run(request, split=Split(prompts=True)))
    assert [choice.text for choice in run.ordered] == ["a!", "b!"]
    assert "sent as 2 requests, one for each prompt" in run.notes
    assert [prompt_from_json(body["prompt"]) for body in run.bodies] == [TextPrompt("a"), TextPrompt("b")]


async def test_one_that_fails_leaves_the_others() -> None:
    async def failing(received: Received, writer: asyncio.StreamWriter) -> None:
        if received.json["seed"] == 6:
            await answering(b'{"error": {"message": "no"}}', 400, JSON)(received, writer)
        else:
            await echoing(received, writer)

    async with serving(failing) as loopback:
        run = await sent(loopback, Run(REQUEST, split=APART))
    assert [(choice.index, choice.text) for choice in run.ordered] == [(0, "p5!"), (2, "p7!")]
    assert run.outcome is Outcome.ERROR
    assert run.error is not None
    assert run.error.title.startswith("1 of 3 requests failed: ")
    assert (run.error.message, run.error.status) == ("no", 400)
    assert run.usage == Usage(2, 4, 6)
    assert "some requests reported no usage" in run.notes


async def test_all_stream_at_once_within_the_limit_and_stop_together() -> None:
    async def hanging(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head() + event(f"{received.json['seed']}"))
        await writer.drain()
        await received.gone.wait()

    async with serving(hanging) as loopback:
        run = Run(REQUEST, split=APART)
        task = asyncio.create_task(sent(loopback, run, concurrency=2))
        async with asyncio.timeout(10):
            while run.tokens < 2:  # noqa: ASYNC110 (the store has no event)
                await asyncio.sleep(0.001)
            assert len(loopback.requests) == 2
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.gather(*(request.gone.wait() for request in loopback.requests))
    assert run.outcome is Outcome.STOPPED
    assert [choice.text for choice in run.ordered] == ["5", "6"]
    assert "sent as 2 of 3 requests, one for each choice, with seeds 5 to 7" in run.notes
    assert [part.choices for part in run.parts] == [(0,), (1,)]


async def test_a_choice_that_nobody_asked_for_is_kept_behind_the_others() -> None:
    two = event("a", 0, "stop") + event("b", 1, "stop") + DONE
    async with serving(answering(two)) as loopback:
        run = await sent(loopback, Run(REQUEST._replace(parameters=Parameters({"n": 2})), split=APART))
    assert [choice.index for choice in run.ordered] == [0, 1, 2, 3]
    assert [choice.text for choice in run.ordered] == ["a", "a", "b", "b"]


async def test_a_choice_that_nobody_asked_for_may_come_before_all_others() -> None:
    async with serving(answering(event("b", 1, "stop") + DONE)) as loopback:
        run = await sent(loopback, Run(REQUEST._replace(parameters=Parameters({"n": 2})), split=APART))
    assert [(choice.index, choice.text) for choice in run.ordered] == [(2, "b"), (3, "b")]
    assert run.error is None


async def test_it_is_kept_in_its_session_and_replayed_and_sent_again_as_it_was(tmp_path: Path) -> None:
    async with serving(echoing) as loopback:
        run = await sent(loopback, Run(REQUEST, "e", split=APART), aliases={"seed": "random_seed"})
        store = SessionStore.create(tmp_path / "s.toml")
        store.progress(received(Increments(run)))
        store.finish(run)
        store.close()
        opened = SessionStore.open(tmp_path / "s.toml")
        read = opened.session.runs[0]
        opened.store.close()
        again = await sent(loopback, Run(read.request, "e", split=read.split))
    assert (read.request, read.split, read.parts, read.sent) == (REQUEST, APART, run.parts, run.sent)
    assert [body["random_seed"] for body in read.bodies] == [5, 6, 7]
    assert [part.response_id for part in read.parts] == ["id-p", "id-p", "id-p"]
    assert read.notes == run.notes
    assert [choice.describe() for choice in check_run(read, again).choices] == [
        f"0/2 equal, diverges at token 1: 'p' recorded, 'p{seed}' again" for seed in (5, 6, 7)
    ]
    replay = Replay(read, float("inf"))
    await replay.play()
    assert [choice.text for choice in replay.run.ordered] == ["p!", "p!", "p!"]
    exported = json.loads(to_json_lines(Session(runs=[read])))
    assert exported["request"]["n"] == 3
    assert exported["requests"] == [dict(body) for body in run.bodies]


def found(**verdicts: ProbeVerdict) -> Quirks:
    names = {"n": "n", "texts": "two prompts", "lists": "lists of token ids"}
    findings = tuple(Finding(names[name], verdict, "") for name, verdict in verdicts.items())
    return Quirks(Probe("e", "m", datetime.now(UTC), 1, findings))


URL = "http://127.0.0.1:1/v1"
TEXTS = Request(TextsPrompt(("a", "b")), "m")
LISTS = Request(TokenListsPrompt(((1,), (2,))), "m")
NOTHING = Quirks()


@pytest.mark.parametrize(
    ("endpoint", "request_", "quirks", "split", "word"),
    [
        (Endpoint("e", URL, single_choice=True), REQUEST, NOTHING, Split(choices=True), "profile"),
        (Endpoint("e", URL, drop=frozenset({"n"})), REQUEST, NOTHING, Split(choices=True), "profile"),
        (Endpoint("e", URL, limits={"n": Range(1, 2)}), REQUEST, NOTHING, Split(choices=True), "up to 2"),
        (Endpoint("e", URL, limits={"n": Range(1, 3)}), REQUEST, NOTHING, NOT_SPLIT, ""),
        (Endpoint("e", URL), REQUEST, found(n=ProbeVerdict.NO_EFFECT), Split(choices=True), "ignored"),
        (Endpoint("e", URL), REQUEST, found(n=ProbeVerdict.REFUSED), Split(choices=True), "refused"),
        (Endpoint("e", URL), REQUEST, found(n=ProbeVerdict.UNKNOWN), NOT_SPLIT, ""),
        (Endpoint("e", URL), REQUEST, Quirks(seen=Split(choices=True)), Split(choices=True), "before"),
        (Endpoint("e", URL, single_prompt=True), TEXTS, NOTHING, Split(prompts=True), "profile"),
        (Endpoint("e", URL), TEXTS, found(texts=ProbeVerdict.REFUSED), Split(prompts=True), "refused"),
        (Endpoint("e", URL), LISTS, found(texts=ProbeVerdict.REFUSED), NOT_SPLIT, ""),
        (Endpoint("e", URL), LISTS, found(lists=ProbeVerdict.NO_EFFECT), Split(prompts=True), "ignored"),
        (Endpoint("e", URL, single_prompt=True), REQUEST, NOTHING, NOT_SPLIT, ""),
        (Endpoint("e", URL), REQUEST, NOTHING, NOT_SPLIT, ""),
    ],
)
def test_an_offer_says_what_the_endpoint_does_not_do(
    endpoint: Endpoint, request_: Request, quirks: Quirks, split: Split, word: str
) -> None:
    offer = offer_split(endpoint, request_, quirks)
    assert (offer.split if offer is not None else NOT_SPLIT) == split
    if offer is not None:
        assert word in offer.reason
        assert offer.requests == request_.choices


def test_candidates_that_are_ranked_together_are_never_asked_for_apart() -> None:
    request = REQUEST._replace(parameters=REQUEST.parameters.set("best_of", 4))
    assert offer_split(Endpoint("e", URL, single_choice=True), request, NOTHING) is None


async def test_an_answer_that_lacks_choices_is_remembered_for_the_next_time() -> None:
    async with serving(echoing) as loopback:
        run = await sent(loopback, Run(REQUEST))
    assert "server returned 1 of 3 choices" in run.notes
    assert left_out(run) == APART
    assert left_out(Run(REQUEST, outcome=Outcome.ERROR)) == NOT_SPLIT
