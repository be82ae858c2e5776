"""One run against servers that answer well, badly, late or not at all."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from tests.client.cases import Case, answer_events, cut, recordings, run_of, shape, texts, wire_cases
from tests.client.loopback import (
    DONE,
    JSON,
    Handler,
    Loopback,
    Received,
    answering,
    chunked,
    event,
    hanging,
    head,
    in_turn,
    serving,
)
from workbench.client.wire_log import WireLog
from workbench.domain.endpoint import Endpoint, EnvironmentKey, Timeouts
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import TextPrompt, TextsPrompt
from workbench.domain.request import Request
from workbench.domain.run import Outcome, Run
from workbench.runner.connections import Connections
from workbench.runner.run_status import Phase, Status

ALL = [*wire_cases(), *recordings()]
KEY = "sk_live_do_not_show"


@asynccontextmanager
async def talking(handler: Handler) -> AsyncGenerator[tuple[Connections, Loopback]]:
    """Connections and a server."""
    connections = Connections({"SOME_KEY": KEY})
    async with serving(handler) as server:
        try:
            yield connections, server
        finally:
            await connections.aclose()


def a_run(**values: object) -> Run:
    extra = values.pop("extra", {})
    return Run(Request(TextPrompt("Hi"), "m", Parameters(values, extra)))  # type: ignore[arg-type]


async def executed(handler: Handler, run: Run | None = None, **fields: object) -> Run:
    run = run or a_run()
    async with talking(handler) as (connections, server):
        await connections.send(server.endpoint(**fields), run)
    return run


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 (what is waited for has no event)
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("case", ALL, ids=str)
async def test_every_case_comes_out_of_a_real_server_as_from_its_bytes(case: Case) -> None:
    bare = Run(Request(TextPrompt("x")))
    handler = answering(case.body, case.status, case.content_type)
    run = await executed(handler, bare)
    pure = run_of(answer_events([case.body], case.status))
    assert run.outcome == case.outcome
    assert shape(run)[5:] == shape(pure)[5:]  # type: ignore[index]


async def test_chunks_of_any_size_make_the_same_run() -> None:
    case = next(case for case in ALL if case.name == "llamacpp-stream-n3")
    run = await executed(chunked(cut(case.body, 7)))
    assert texts(run) == case.texts
    assert run.outcome is Outcome.COMPLETE


async def test_a_run_knows_what_was_sent_and_what_the_answer_says_of_itself() -> None:
    body = event("a", finish_reason="stop", id="cmpl-1", model="m", created=7) + DONE
    run = await executed(answering(body))
    assert run.sent == {
        "model": "m",
        "prompt": "Hi",
        "max_tokens": 16,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert (run.response_id, run.model, run.created) == ("cmpl-1", "m", 7)
    assert run.notes == []
    assert run.total is not None
    assert run.total > 0


async def test_the_key_goes_in_the_named_header_and_compression_is_declined() -> None:
    async with talking(answering(event("a", finish_reason="stop") + DONE)) as (connections, server):
        await connections.send(server.endpoint(key=EnvironmentKey("SOME_KEY")), a_run())
        await connections.send(server.endpoint(key=EnvironmentKey("SOME_KEY"), key_header="api-key"), a_run())
        await connections.send(server.endpoint(headers={"X-Team": "blue"}), a_run())
    first, second, third = (request.headers for request in server.requests)
    assert first["authorization"] == f"Bearer {KEY}"
    assert first["accept-encoding"] == "identity"
    assert second["api-key"] == KEY
    assert "authorization" not in second
    assert "authorization" not in third
    assert third["x-team"] == "blue"
    assert int(first["content-length"]) == len(server.requests[0].body)


async def test_cancelling_closes_the_connection_within_a_second_and_keeps_the_text() -> None:
    run = a_run()
    first = head() + event("so far")
    async with talking(hanging(first)) as (connections, server):
        task = asyncio.create_task(connections.send(server.endpoint(), run))
        await until(lambda: texts(run) == ["so far"])
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(1):
            await server.requests[0].gone.wait()
    assert run.outcome is Outcome.STOPPED
    assert texts(run) == ["so far"]
    assert run.error is None
    assert run.total is not None


async def test_cancelling_before_the_head_came_closes_the_connection_too() -> None:
    run = a_run()
    async with talking(hanging()) as (connections, server):
        task = asyncio.create_task(connections.send(server.endpoint(), run))
        await until(lambda: bool(server.requests))
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        async with asyncio.timeout(1):
            await server.requests[0].gone.wait()
    assert run.outcome is Outcome.STOPPED


async def test_a_reset_keeps_the_text_and_says_why() -> None:
    async def handle(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(
            head(extra=["Transfer-Encoding: chunked"]) + b"%x\r\n%s\r\n" % (len(event("a")), event("a"))
        )
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.transport.abort()

    run = await executed(handle)
    assert texts(run) == ["a"]
    assert run.outcome is Outcome.TRUNCATED
    assert run.error is not None
    assert run.error.title == "Connection lost"


async def test_a_body_shorter_than_its_content_length_is_truncated() -> None:
    async def handle(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head(length=1000) + event("a"))
        await writer.drain()

    run = await executed(handle)
    assert texts(run) == ["a"]
    assert run.outcome is Outcome.TRUNCATED


async def test_a_connection_that_breaks_after_the_last_finish_reason_leaves_a_complete_run() -> None:
    async def handle(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head(length=1000) + event("a", finish_reason="stop") + DONE)
        await writer.drain()

    run = await executed(handle)
    assert run.outcome is Outcome.COMPLETE
    assert run.error is None


async def test_a_server_that_hangs_up_without_an_answer_is_an_error_and_asked_once() -> None:
    async def handle(_: Received, writer: asyncio.StreamWriter) -> None:
        await writer.drain()

    async with talking(handle) as (connections, server):
        run = a_run()
        await connections.send(server.endpoint(retries=3), run)
        assert len(server.requests) == 1
    assert run.outcome is Outcome.ERROR
    assert run.error is not None
    assert run.error.title == "Connection lost"


async def test_a_server_that_never_answers_runs_into_the_read_timeout() -> None:
    run = await executed(hanging(), timeouts=Timeouts(read=0.2))
    assert run.outcome is Outcome.ERROR
    assert run.error is not None
    assert run.error.title == "No data received for 0.2 s"


async def test_a_stream_that_stalls_keeps_its_text() -> None:
    run = await executed(hanging(head() + event("a")), timeouts=Timeouts(read=0.2))
    assert run.outcome is Outcome.TRUNCATED
    assert texts(run) == ["a"]


async def test_nothing_listening_is_an_error_after_visible_repetitions() -> None:
    async with serving(hanging()) as server:
        endpoint = server.endpoint(retries=1)
    seen: list[Status] = []
    run = a_run()
    connections = Connections({})
    await connections.send(endpoint, run, on_status=seen.append)
    await connections.aclose()
    assert [status.phase for status in seen] == [Phase.SENDING, Phase.RETRYING, Phase.SENDING, Phase.ENDED]
    assert run.outcome is Outcome.ERROR
    assert run.error is not None
    assert run.error.title == "The endpoint cannot be reached"
    assert endpoint.base_url in run.error.message


async def test_a_loading_server_is_asked_again_as_it_asks_and_each_time_visibly() -> None:
    refusal = answering(
        b'{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}',
        503,
        JSON,
        ["retry-after-ms: 10"],
    )
    seen: list[Status] = []
    run = a_run()
    async with talking(in_turn(refusal, refusal, answering(event("a", finish_reason="stop") + DONE))) as (
        connections,
        server,
    ):
        await connections.send(server.endpoint(retries=2), run, on_status=seen.append)
    retries = [status for status in seen if status.phase is Phase.RETRYING]
    assert [status.attempt for status in retries] == [1, 2]
    assert all(0.01 <= status.seconds <= 0.011 for status in retries)
    assert run.outcome is Outcome.COMPLETE


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 500, 502, 504, 529])
async def test_nothing_else_is_asked_again(status: int) -> None:
    async with talking(answering(b"no", status, "text/plain")) as (connections, server):
        run = a_run()
        await connections.send(server.endpoint(retries=3), run)
        assert len(server.requests) == 1
    assert run.outcome is Outcome.ERROR
    assert run.error is not None
    assert run.error.status == status


async def test_an_error_within_an_answer_is_never_asked_again() -> None:
    body = event("a") + b'data: {"error":{"code":503,"message":"died"}}\n\n'
    async with talking(answering(body)) as (connections, server):
        run = a_run()
        await connections.send(server.endpoint(retries=3), run)
        assert len(server.requests) == 1
    assert texts(run) == ["a"]
    assert run.outcome is Outcome.ERROR


async def test_a_pause_before_a_repetition_can_be_cancelled() -> None:
    run = a_run()
    waiting = asyncio.Event()
    refusal = answering(b"", 429, JSON, ["Retry-After: 100"])
    async with talking(refusal) as (connections, server):
        task = asyncio.create_task(
            connections.send(
                server.endpoint(retries=2),
                run,
                on_status=lambda status: waiting.set() if status.phase is Phase.RETRYING else None,
            )
        )
        async with asyncio.timeout(5):
            await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert run.outcome is Outcome.STOPPED


async def test_a_redirect_is_shown_and_not_followed() -> None:
    redirect = answering(b"", 301, "text/html", ["Location: https://elsewhere.example/v1/completions"])
    async with talking(redirect) as (connections, server):
        run = a_run()
        await connections.send(server.endpoint(key=EnvironmentKey("SOME_KEY")), run)
        assert len(server.requests) == 1
    assert run.error is not None
    assert "https://elsewhere.example/v1/completions" in run.error.message


async def test_a_404_says_which_address_was_tried() -> None:
    async with talking(answering(b"404 page not found", 404, "text/plain")) as (connections, server):
        run = a_run()
        await connections.send(server.endpoint(), run)
    assert run.error is not None
    assert f"{server.base_url}/completions" in run.error.hint


async def test_a_compressed_answer_is_read_all_the_same() -> None:
    body = gzip.compress(event("a", finish_reason="stop") + DONE)
    run = await executed(answering(body, extra=["Content-Encoding: gzip"]))
    assert texts(run) == ["a"]
    assert run.outcome is Outcome.COMPLETE


async def test_an_answer_compressed_in_another_way_is_an_error() -> None:
    run = await executed(answering(b"\x0b\x02\x80", extra=["Content-Encoding: br"]))
    assert run.outcome is Outcome.ERROR
    assert run.error is not None
    assert "compressed" in run.error.title


async def test_an_answer_that_is_not_streamed_is_stored_alike() -> None:
    body = (
        b'\n\n\n{"choices":[{"index":1,"text":"b","finish_reason":"stop"},'
        b'{"index":0,"text":"a","finish_reason":"stop"}]}'
    )
    run = await executed(answering(body, content_type=JSON), a_run(stream=False, n=2))
    assert run.sent["stream"] is False
    assert texts(run) == ["a", "b"]
    assert list(run.choices) == [0, 1]
    assert run.outcome is Outcome.COMPLETE


async def test_a_connection_left_open_after_done_is_not_waited_for() -> None:
    first = head() + event("a", finish_reason="stop") + DONE
    async with asyncio.timeout(5):
        run = await executed(hanging(first))
    assert run.outcome is Outcome.COMPLETE


async def test_what_comes_after_done_counts() -> None:
    late = b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}\n\n'
    run = await executed(answering(event("a", finish_reason="stop") + DONE + late))
    assert run.usage is not None
    assert run.usage.total_tokens == 2


async def test_signs_of_life_are_told_as_status() -> None:
    seen: list[Status] = []
    body = b": keepalive 512/4096\n\n" + event("a", finish_reason="stop") + DONE
    async with talking(answering(body)) as (connections, server):
        await connections.send(server.endpoint(), a_run(), on_status=seen.append)
    assert "keepalive 512/4096" in [status.detail for status in seen]


async def test_oddities_are_said_once_each() -> None:
    body = event("a", model="other") + event("b", finish_reason="stop", model="other") + DONE
    run = await executed(
        answering(body), a_run(n=4, logprobs=5, min_p=0.1), drop=frozenset({"min_p", "top_k"})
    )
    assert run.notes == [
        "server returned 1 of 4 choices",
        "answered by other, not m",
        "logprobs were requested, but none were returned",
        "not sent, as this endpoint does not take it: min_p",
    ]


async def test_a_missing_key_is_an_error_that_names_the_variable() -> None:
    run = a_run()
    connections = Connections({})
    await connections.send(Endpoint("x", "http://127.0.0.1:1/v1", key=EnvironmentKey("NOT_THERE")), run)
    assert run.outcome is Outcome.ERROR
    assert run.error is not None
    assert "NOT_THERE" in run.error.message


async def test_the_key_is_taken_out_of_what_the_endpoint_echoes() -> None:
    refusal = answering(f'{{"error":{{"message":"bad key {KEY}"}}}}'.encode(), 401, JSON)
    run = await executed(refusal, key=EnvironmentKey("SOME_KEY"))
    assert run.error is not None
    assert KEY not in repr(run)
    assert "bad key" in run.error.message


async def test_a_wire_log_has_the_exchange_without_the_key() -> None:
    wire = WireLog()
    body = event("a", finish_reason="stop") + DONE
    async with talking(answering(body)) as (connections, server):
        await connections.send(server.endpoint(key=EnvironmentKey("SOME_KEY")), a_run(), wire=wire)
    assert wire.answer == body
    assert wire.status == 200
    assert wire.url == f"{server.base_url}/completions"
    assert wire.body == server.requests[0].body
    assert KEY not in repr(wire)


async def test_an_echoed_prompt_is_marked_by_prompt() -> None:
    body = event("One", 0) + event("Two", 1) + event(" a", 0, "stop") + event(" b", 1, "stop") + DONE
    run = Run(Request(TextsPrompt(("One", "Two")), parameters=Parameters(extra={"echo": True})))
    await executed(answering(body), run)
    assert [choice.echoed for choice in run.ordered] == [1, 1]


async def test_an_echo_without_logprobs_is_parted_where_the_prompt_ends() -> None:
    run = await executed(
        answering(event("Hi there", finish_reason="stop") + DONE), a_run(extra={"echo": True})
    )
    (choice,) = run.ordered
    assert choice.texts() == ["Hi", " there"]
    assert choice.echoed == 1


async def test_a_lone_surrogate_in_the_prompt_can_be_sent() -> None:
    run = Run(Request(TextPrompt("a\ud83d")))
    async with talking(answering(event("a", finish_reason="stop") + DONE)) as (connections, server):
        await connections.send(server.endpoint(), run)
        assert server.requests[0].json["prompt"] == "a\ud83d"


async def test_a_number_that_json_cannot_hold_is_an_error_before_anything_is_sent() -> None:
    async with talking(hanging()) as (connections, server):
        run = a_run(extra={"x": float("nan")})
        await connections.send(server.endpoint(), run)
        assert server.requests == []
    assert run.outcome is Outcome.ERROR


async def test_a_connection_that_breaks_before_every_choice_came_leaves_a_truncated_run() -> None:
    async def handle(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head(length=1000) + event("a", finish_reason="stop"))
        await writer.drain()

    run = await executed(handle, a_run(n=2))
    assert run.outcome is Outcome.TRUNCATED
    assert run.error is not None
    assert run.error.title == "Connection lost"


async def test_a_connection_that_breaks_behind_all_choices_is_noted() -> None:
    async def handle(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head(length=1000) + event("a", finish_reason="stop"))
        await writer.drain()

    run = await executed(handle)
    assert run.outcome is Outcome.COMPLETE
    assert run.error is None
    (note,) = run.notes
    assert note.startswith("the connection was lost after the whole answer: ")


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        (event("a", finish_reason="stop") + DONE, Outcome.COMPLETE),
        (event("a", finish_reason="stop"), Outcome.COMPLETE),
        (event("a") + DONE, Outcome.UNFINISHED),
        (event("a") + b'data: {"error":"died"}\n\n', Outcome.ERROR),
    ],
    ids=["done", "finished", "done without a reason", "error"],
)
async def test_cancelling_an_answer_that_has_ended_does_not_call_it_stopped(
    body: bytes, outcome: Outcome
) -> None:
    run, wire = a_run(), WireLog()
    async with talking(hanging(head() + body)) as (connections, server):
        task = asyncio.create_task(connections.send(server.endpoint(), run, wire=wire))
        await until(lambda: bytes(wire.answer) == body)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert run.outcome is outcome
