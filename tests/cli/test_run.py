"""`workbench run` as scripts use it: real processes against a loopback server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import pytest

from tests.client.loopback import DONE, JSON, answering, event, hanging, head, serving
from workbench.domain.json_values import JsonObject

KEY = "sk_secret_of_the_test"


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended."""

    status: int
    out: bytes
    err: str

    @property
    def json(self) -> JsonObject:
        """Standard output as one JSON object."""
        return cast(JsonObject, json.loads(self.out))


async def start(*argv: str, environment: Mapping[str, str] | None = None) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "workbench"),
        *argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **(environment or {})},
    )


async def workbench(*argv: str, environment: Mapping[str, str] | None = None) -> Done:
    process = await start(*argv, environment=environment)
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    assert process.returncode is not None
    return Done(process.returncode, out, err.decode())


async def test_the_version_is_a_result() -> None:
    done = await workbench("--version")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(b"workbench 0.")


async def test_the_text_goes_exactly_to_a_pipe_and_nothing_else_does() -> None:
    text = "a\r\n\x1b[31m\u2028 é😀\t"
    async with serving(answering(event(text, finish_reason="stop") + DONE)) as server:
        done = await workbench("run", "--prompt", "Once", "--endpoint", server.base_url)
    assert (done.status, done.out, done.err) == (0, text.encode(), "")


async def test_the_body_holds_what_was_given_and_no_key_for_a_bare_url() -> None:
    async with serving(answering(event("x", finish_reason="stop") + DONE)) as server:
        await workbench(
            *("run", "--prompt", "a", "--prompt", "b", "--endpoint", server.base_url, "--model", "m"),
            *("--temperature", "0.5", "--stop", "\n", "--extra", "grammar=null"),
            environment={"OPENAI_API_KEY": KEY, "JIEKOU_API_KEY": KEY},
        )
    assert server.requests[0].json == {
        "model": "m",
        "prompt": ["a", "b"],
        "temperature": 0.5,
        "max_tokens": 16,
        "stop": ["\n"],
        "stream": True,
        "stream_options": {"include_usage": True},
        "grammar": None,
    }
    assert "authorization" not in server.requests[0].headers


async def test_a_named_key_is_sent_and_never_shown() -> None:
    refusal = json.dumps({"error": {"message": f"bad key {KEY}", "code": 401}}).encode()
    async with serving(answering(refusal, 401, JSON)) as server:
        done = await workbench(
            *("run", "--prompt", "a", "--endpoint", server.base_url, "--api-key-env", "MY_KEY", "--json"),
            environment={"MY_KEY": KEY},
        )
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert done.status == 1
    assert KEY not in done.out.decode() + done.err
    assert done.json["error"]


async def test_json_holds_everything_that_came() -> None:
    logprobs = {"tokens": ["a"], "token_logprobs": [-0.5], "top_logprobs": [{"a": -0.5, "b": -1.5}]}
    body = {
        "id": "cmpl-1",
        "created": 7,
        "model": "m",
        "choices": [
            {"index": 1, "text": "b", "finish_reason": "length", "logprobs": None},
            {"index": 0, "text": "a", "finish_reason": "stop", "logprobs": logprobs},
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
    }
    async with serving(answering(json.dumps(body).encode(), content_type=JSON)) as server:
        done = await workbench(
            "run", "--prompt", "a", "--n", "2", "--no-stream", "--endpoint", server.base_url, "--json"
        )
    printed = done.json
    assert [printed[name] for name in ("outcome", "id", "created", "model")] == ["complete", "cmpl-1", 7, "m"]
    assert printed["usage"] == {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    choices = cast(list[JsonObject], printed["choices"])
    assert [(choice["index"], choice["text"], choice["finish_reason"]) for choice in choices] == [
        (0, "a", "stop"),
        (1, "b", "length"),
    ]
    token = cast(list[JsonObject], choices[0]["tokens"])[0]
    assert token["logprob"] == -0.5
    assert token["alternatives"] == [{"text": "a", "logprob": -0.5}, {"text": "b", "logprob": -1.5}]
    assert set(cast(JsonObject, printed["timing"])) == {"first_token", "total"}


async def test_several_choices_come_in_the_order_of_their_index() -> None:
    body = event("B", 1) + event("A", 0) + event("b", 1, "stop") + event("a", 0, "stop") + DONE
    async with serving(answering(body)) as server:
        done = await workbench("run", "--prompt", "x", "--n", "2", "--endpoint", server.base_url)
    assert done.out == b"Aa\n---\nBb"


@pytest.mark.parametrize(
    ("body", "outcome", "status"),
    [
        (event("a", finish_reason="stop") + DONE, "complete", 0),
        (event("a") + DONE, "unfinished", 0),
        (event("a"), "truncated", 1),
        (event("a") + b'data: {"error": "broken"}\n\n', "error", 1),
    ],
)
async def test_the_exit_status_tells_the_outcome(body: bytes, outcome: str, status: int) -> None:
    async with serving(answering(body)) as server:
        done = await workbench("run", "--prompt", "x", "--endpoint", server.base_url, "--json")
    assert (done.json["outcome"], done.status) == (outcome, status)
    assert cast(list[JsonObject], done.json["choices"])[0]["text"] == "a"


async def test_ctrl_c_keeps_what_came_and_closes_the_connection() -> None:
    async with serving(hanging(head() + event("so far"))) as server:
        process = await start("run", "--prompt", "x", "--endpoint", server.base_url)
        assert process.stdout is not None
        async with asyncio.timeout(60):
            assert await process.stdout.readexactly(6) == b"so far"
            process.send_signal(signal.SIGINT)
            await server.requests[0].gone.wait()
            assert await process.wait() == 130


async def test_a_long_wait_is_told_at_once_also_where_standard_error_is_no_terminal() -> None:
    busy = answering(b'{"error":{"message":"slow down"}}', 429, JSON, ["Retry-After: 3600"])
    async with serving(busy) as server:
        process = await start("run", "--prompt", "x", "--endpoint", server.base_url)
        assert process.stderr is not None
        async with asyncio.timeout(60):
            message = (await process.stderr.readline()).decode()
            process.send_signal(signal.SIGINT)
            assert await process.wait() == 130
        assert "slow down; the endpoint asks to wait 1 h 0 min; attempt 2 in 1 h 0 min" in message
        assert len(server.requests) == 1


async def test_an_endpoint_that_is_not_there_is_named() -> None:
    async with serving(answering(b"")) as server:
        address = server.base_url
    done = await workbench("run", "--prompt", "x", "--endpoint", address, "--json")
    assert done.status == 1
    assert done.json["outcome"] == "error"
    assert "127.0.0.1" in done.err


async def test_bad_arguments_are_all_named_and_nothing_is_sent() -> None:
    async with serving(answering(b"")) as server:
        done = await workbench(
            *("run", "--prompt", "x", "--endpoint", server.base_url, "--temperature", "9", "--top-k", "x")
        )
        assert server.requests == []
    assert done.status == 2
    assert done.out == b""
    assert "--temperature" in done.err
    assert "between 0 and 2" in done.err
    assert "--top-k" in done.err


async def test_a_reader_that_leaves_is_no_error_on_screen() -> None:
    async with serving(answering(event("x" * 400_000, finish_reason="stop") + DONE)) as server:
        argv = ["run", "--prompt", "x", "--endpoint", server.base_url]
        command = f"from workbench.cli import main; main({argv})"
        process = await asyncio.create_subprocess_shell(
            f'{sys.executable} -c "{command}" | head -c 10',
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(60):
            out, err = await process.communicate()
    assert out == b"x" * 10
    assert err == b""


@pytest.mark.slow
async def test_the_embedded_model_answers_with_tokens_and_alternatives() -> None:
    done = await workbench(
        *("run", "--prompt", "The capital of France is", "--max-tokens", "8", "--logprobs", "5"),
        *("--seed", "1", "--temperature", "0", "--json"),
    )
    assert done.status == 0
    assert done.json["outcome"] == "complete"
    choice = cast(list[JsonObject], done.json["choices"])[0]
    tokens = cast(list[JsonObject], choice["tokens"])
    assert len(tokens) == 8
    assert "".join(str(token["text"]) for token in tokens) == choice["text"]
    assert all(len(cast(list[JsonObject], token["alternatives"])) == 5 for token in tokens)
    assert cast(JsonObject, done.json["usage"])["completion_tokens"] == 8


async def test_an_answer_without_anything_is_said_and_fails() -> None:
    async with serving(answering(DONE)) as server:
        done = await workbench("run", "--prompt", "x", "--endpoint", server.base_url)
    assert (done.status, done.out) == (1, b"")
    assert "workbench: No answer received\n" in done.err


async def test_every_note_of_a_run_is_printed_beside_its_text() -> None:
    async with serving(answering(event("half an ans") + DONE)) as server:
        done = await workbench("run", "--prompt", "x", "--endpoint", server.base_url, "--n", "3")
    assert (done.status, done.out) == (0, b"half an ans")
    assert done.err.splitlines() == [
        "workbench: This may generate up to 48 completion tokens.",
        "workbench: server returned 1 of 3 choices",
        "workbench: the answer ended without a finish_reason",
    ]


@pytest.mark.parametrize("command", ["run", "compare", "sweep"])
async def test_an_endpoint_whose_variable_is_not_set_is_refused(command: str) -> None:
    done = await workbench(command, "--endpoint", "", "--prompt", "x")
    assert (done.status, done.out) == (2, b"")
    assert "argument --endpoint: no endpoint is named" in done.err
