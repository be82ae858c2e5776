"""`workbench compare` and `workbench sweep` against a loopback server."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import cast

import pytest

from tests.cli.test_run import start, workbench
from tests.client.loopback import DONE, Handler, Received, answering, event, head, serving
from workbench.domain.json_values import JsonObject
from workbench.domain.run import Outcome
from workbench.storage.endpoint_list import endpoints_folder
from workbench.storage.files import Folders
from workbench.storage.presets import presets_folder
from workbench.storage.session_store import SessionStore


def telling_temperature() -> Handler:
    """A server whose answer is the temperature it was asked for."""

    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        text = str(received.json.get("temperature", "unset"))
        writer.write(head() + event(text, finish_reason="stop") + DONE)
        await writer.drain()

    return handle


async def test_presets_are_compared_on_every_prompt_with_one_seed(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("one\ntwo\n")
    async with serving(telling_temperature()) as server:
        done = await workbench(
            *("compare", "--prompts", str(prompts), "--preset", "greedy", "--preset", "creative"),
            *("--endpoint", server.base_url, "--json"),
        )
    runs = cast(list[JsonObject], json.loads(done.out))
    assert done.status == 0
    requests = [cast(JsonObject, run["request"]) for run in runs]
    assert [(run["preset"], request["prompt"]) for run, request in zip(runs, requests, strict=True)] == [
        ("greedy", "one"),
        ("creative", "one"),
        ("greedy", "two"),
        ("creative", "two"),
    ]
    assert len({request["seed"] for request in requests}) == 1


async def test_a_comparison_is_a_table(tmp_path: Path) -> None:
    session = tmp_path / "kept.toml"
    async with serving(telling_temperature()) as server:
        done = await workbench(
            *("compare", "--prompt", "Once", "--preset", "greedy", "--preset", "creative"),
            *("--endpoint", server.base_url, "--max-tokens", "9", "--session", str(session)),
        )
    assert done.status == 0
    assert b"greedy (temperature 0" in done.out
    assert [request.json["max_tokens"] for request in server.requests] == [9, 9]
    assert session.read_text().count("[[runs]]") == 2


async def test_a_preset_is_compared_at_several_endpoints_and_models() -> None:
    async with serving(telling_temperature()) as first, serving(telling_temperature()) as two:
        done = await workbench(
            *("compare", "--prompt", "Once", "--preset", "greedy", "--json"),
            *("--at", f"{first.base_url}=large", "--at", f"{first.base_url}=small", "--at", two.base_url),
        )
    runs = cast(list[JsonObject], json.loads(done.out))
    assert [(run["endpoint"], cast(JsonObject, run["request"]).get("model")) for run in runs] == [
        (first.base_url, "large"),
        (first.base_url, "small"),
        (two.base_url, None),
    ]


async def test_all_of_a_batch_are_answered_behind_a_limit_of_one_at_a_time() -> None:
    answers = iter([True, *[False, True] * 20])

    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        if next(answers):
            await telling_temperature()(received, writer)
        else:
            writer.write(head(429, "application/json", 2, ["retry-after-ms: 10"]) + b"{}")
            await writer.drain()

    async with serving(handle) as server:
        sweep = ("sweep", "--prompt", "x", "--vary", "temperature=0:1:0.1", "--yes", "--json")
        done = await workbench(*sweep, "--endpoint", server.base_url)
    runs = cast(list[JsonObject], json.loads(done.out))
    assert (done.status, [run["outcome"] for run in runs]) == (0, ["complete"] * 11)
    assert "the endpoint asks to wait 10 ms; attempt 2 in 1" in done.err


async def test_an_unknown_preset_is_named_with_the_known_ones() -> None:
    done = await workbench("compare", "--prompt", "x", "--preset", "greedy", "--preset", "warm")
    assert done.status == 2
    assert "no preset named 'warm'" in done.err
    assert "balanced" in done.err


@pytest.mark.parametrize("name", ["greedy", "my hot one"])
async def test_a_preset_with_a_mistake_in_its_file_is_told_with_its_line(name: str) -> None:
    path = presets_folder(Folders.default(os.environ)) / "greedy.toml"
    path.parent.mkdir(parents=True)
    path.write_text('name = "my hot one"\n[parameters]\ntemprature = 1\n')
    done = await workbench("compare", "--prompt", "x", "--preset", name, "--preset", "creative")
    assert done.status == 2
    assert "greedy.toml, line 3: parameters.temprature is not a known key" in done.err
    assert "Did you mean temperature?" in done.err


async def test_a_column_that_is_out_of_range_is_explained_with_the_limits_of_its_own_endpoint() -> None:
    folder = endpoints_folder(Folders.default(os.environ))
    folder.mkdir(parents=True)
    (folder / "narrow.toml").write_text('base_url = "http://h/v1"\n[limits]\ntemperature = [0, 1]\n')
    (folder / "wide.toml").write_text('base_url = "http://h/v1"\n[limits]\ntemperature = [0, 9]\n')
    sent = ("compare", "--prompt", "x", "--preset", "greedy", "--endpoint", "wide", "--temperature", "5")
    done = await workbench(*sent, "--at", "narrow", "--at", "wide")
    assert done.status == 2
    assert "--temperature: temperature must be between 0 and 1 (got 5).\n" in done.err
    assert "and 9" not in done.err


async def test_a_sweep_sends_every_combination_and_shows_a_grid() -> None:
    async with serving(telling_temperature()) as server:
        done = await workbench(
            *("sweep", "--prompt", "Once", "--vary", "temperature=0:1:0.5", "--vary", "top_p=0.5,1"),
            *("--endpoint", server.base_url, "--measure", "tokens", "--yes"),
        )
    assert done.status == 0
    sent = {(request.json["temperature"], request.json["top_p"]) for request in server.requests}
    assert sent == {(t, p) for t in (0, 0.5, 1) for p in (0.5, 1)}
    assert "6 requests, which may generate up to 96 completion tokens." in done.err
    assert b"top_p 0.5" in done.out


async def test_a_sweep_at_an_endpoint_without_logprobs_says_why_it_has_no_perplexity() -> None:
    async with serving(telling_temperature()) as server:
        done = await workbench(
            *("sweep", "--prompt", "x", "--vary", "temperature=0,1", "--yes", "--endpoint", server.base_url)
        )
    assert f"no answer has a perplexity: {server.base_url} returned no logprobs" in done.err


LOGPROBS = {"tokens": ["a"], "token_logprobs": [-0.5], "top_logprobs": [{"a": -0.5}]}
CHOICE = {"index": 0, "text": "a", "finish_reason": "stop", "logprobs": LOGPROBS}
MEASURED = answering(f"data: {json.dumps({'choices': [CHOICE]})}\n\n".encode() + DONE)
TABLES = [
    ("compare", "--preset", "greedy", "--preset", "creative"),
    ("sweep", "--vary", "temperature=0,1", "--yes"),
]


@pytest.mark.parametrize("command", TABLES, ids=lambda command: command[0])
async def test_a_table_of_perplexities_asks_for_logprobs_and_says_so(command: tuple[str, ...]) -> None:
    async with serving(MEASURED) as server:
        done = await workbench(*command, "--prompt", "Once", "--endpoint", server.base_url)
        assert {request.json["logprobs"] for request in server.requests} == {1}
        assert b"1.6" in done.out
        assert "note: logprobs = 1 was added to the requests" in done.err
        done = await workbench(*command, "--prompt", "Once", "--endpoint", server.base_url, "--logprobs", "3")
        assert server.requests[-1].json["logprobs"] == 3
        assert "was added" not in done.err


async def test_logprobs_are_not_asked_for_where_no_figure_needs_them_or_the_endpoint_has_none() -> None:
    async with serving(MEASURED) as server:
        to = ("--prompt", "Once", "--endpoint", server.base_url)
        await workbench("sweep", "--vary", "temperature=0,1", "--yes", "--measure", "tokens", *to)
        set_up = ("endpoints", "set", "plain", f"base_url={server.base_url}", "drop=logprobs")
        assert (await workbench(*set_up)).status == 0
        await workbench(*TABLES[0], "--prompt", "Once", "--endpoint", "plain")
    assert not any("logprobs" in request.json for request in server.requests)


@pytest.mark.parametrize("measure", ["TTFT", "first token", "tok/s", "tokens/s"])
async def test_a_measure_is_also_found_by_the_name_it_had(measure: str) -> None:
    async with serving(MEASURED) as server:
        to = ("--prompt", "Once", "--endpoint", server.base_url)
        done = await workbench("sweep", "--vary", "temperature=0,1", "--yes", "--measure", measure, *to)
    assert done.status == 0
    assert (b"TTFT" if measure in ("TTFT", "first token") else b"tok/s") in done.out


async def test_a_sweep_of_three_axes_is_refused() -> None:
    done = await workbench(
        *("sweep", "--prompt", "x", "--vary", "n=1", "--vary", "top_p=1", "--vary", "min_p=0")
    )
    assert done.status == 2
    assert "one or two different fields" in done.err


async def test_a_sweep_into_a_session_sends_only_what_it_has_not_answered(tmp_path: Path) -> None:
    session = tmp_path / "kept.toml"
    common = ("sweep", "--prompt", "Once", "--session", str(session), "--yes", "--json")
    async with serving(telling_temperature()) as server:
        where = ("--endpoint", server.base_url)
        first = await workbench(*common, *where, "--vary", "temperature=0,1")
        again = await workbench(*common, *where, "--vary", "temperature=0,0.5,1")
    assert (first.status, again.status) == (0, 0)
    assert "2 of 3 requests are answered already" in again.err
    assert "completion tokens" not in again.err, "one plain request needs no words"
    assert [request.json["temperature"] for request in server.requests[2:]] == [0.5]
    assert len({request.json["seed"] for request in server.requests}) == 1
    runs = cast(list[JsonObject], json.loads(again.out))
    assert [cast(list[JsonObject], run["choices"])[0]["text"] for run in runs] == ["0.0", "0.5", "1.0"]
    assert session.read_text().count("[[runs]]") == 3


async def test_a_comparison_into_a_session_sends_only_what_it_has_not_answered(tmp_path: Path) -> None:
    session, prompts = tmp_path / "kept.toml", tmp_path / "prompts.txt"
    common = ("compare", "--prompts", str(prompts), "--session", str(session), "--preset", "greedy")
    async with serving(telling_temperature()) as server:
        for text in ("one\n", "one\ntwo\n"):
            prompts.write_text(text)
            done = await workbench(*common, "--preset", "creative", "--endpoint", server.base_url)
            assert done.status == 0
    assert "2 of 4 requests are answered already" in done.err
    assert [request.json["prompt"] for request in server.requests] == ["one", "one", "two", "two"]
    assert len({request.json["seed"] for request in server.requests}) == 1


async def test_a_killed_sweep_keeps_what_was_answered_and_the_tokens_of_what_streamed(tmp_path: Path) -> None:
    session = tmp_path / "killed.toml"

    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        text = str(received.json["temperature"])
        is_last = text == "2.0"
        writer.write(
            head() + event(text, finish_reason=None if is_last else "stop") + (b"" if is_last else DONE)
        )
        await writer.drain()
        if is_last:
            await received.gone.wait()

    def is_streaming_last(saved: bytes) -> bool:
        journals = b"".join(path.read_bytes() for path in tmp_path.glob(".*.run"))
        return saved.count(b'outcome = "complete"') == 2 and b'"2.0"' in journals

    async with serving(handle) as server:
        process = await start(
            *("sweep", "--prompt", "Once", "--vary", "temperature=0,1,2", "--yes"),
            *("--endpoint", server.base_url, "--session", str(session)),
        )
        async with asyncio.timeout(60):
            while not (session.exists() and is_streaming_last(session.read_bytes())):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            process.kill()
            await process.communicate()
    opened = SessionStore.open(session)
    opened.store.close()
    outcomes = {run.ordered[0].text: run.outcome for run in opened.session.runs}
    assert outcomes == {"0.0": Outcome.COMPLETE, "1.0": Outcome.COMPLETE, "2.0": Outcome.TRUNCATED}
