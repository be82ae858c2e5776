"""Each ready profile at a loopback server with its quirks: fields, framing, logprobs and errors."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass

import pytest

from tests.client.loopback import JSON, STREAM, Handler, Received, answering, serving
from workbench.domain.endpoint import LOCAL, Endpoint
from workbench.domain.parameter_table import ParameterValue
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import TextPrompt, TextsPrompt
from workbench.domain.request import Request
from workbench.domain.run import Outcome, Run, Usage
from workbench.runner.connections import Connections
from workbench.runner.split_run import Quirks, offer_split
from workbench.storage.endpoint_list import load_endpoints
from workbench.storage.files import Folders

SET: dict[str, ParameterValue] = {
    "temperature": 0.5,
    "top_p": 0.9,
    "top_k": 40,
    "min_p": 0.05,
    "max_tokens": 8,
    "seed": 7,
    "stop": ("END",),
    "logprobs": 3,
    "n": 1,
    "best_of": 1,
    "frequency_penalty": 0.5,
    "presence_penalty": 0.5,
    "repetition_penalty": 1.2,
    "logit_bias": {"5": -1},
}
ALWAYS = {"model", "prompt", "stream", "stream_options"}
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
COUNTS = Usage(3, 2, 5)


def legacy(text: str, offset: int = 0, **more: object) -> dict[str, object]:
    """One token's logprobs as parallel arrays."""
    return {
        "tokens": [text],
        "token_logprobs": [-0.5],
        "top_logprobs": [{text: -0.5, " no": -1.5}],
        "text_offset": [offset],
        **more,
    }


def chat(text: str) -> dict[str, object]:
    """One token's logprobs in the shape of chats."""
    entry = {"id": 7, "token": text, "bytes": list(text.encode()), "logprob": -0.5}
    return {"content": [{**entry, "top_logprobs": [entry, {**entry, "token": " no", "logprob": -1.5}]}]}


def part(text: str | None, reason: str | None = None, logprobs: object = None, **more: object) -> bytes:
    """The JSON of one chunk."""
    choice = {"index": 0, "text": text, "finish_reason": reason, "logprobs": logprobs}
    return json.dumps({"id": "c", "model": "m", "choices": [choice], **more}, ensure_ascii=False).encode()


def whole(**more: object) -> bytes:
    """The JSON of a chunk without choices."""
    return json.dumps({"id": "c", "model": "m", "choices": [], **more}).encode()


def stream(
    *parts: bytes, end: bytes = b"data: [DONE]\n\n", line: bytes = b"\n", before: bytes = b""
) -> bytes:
    """A stream of chunks."""
    return before + b"".join(b"data: " + payload + line * 2 for payload in parts) + end


PLAIN = stream(part(" Hi", None, legacy(" Hi")), part(" you", "stop", legacy(" you", 3)), whole(usage=USAGE))


@dataclass(frozen=True)
class Server:
    """What a server does with a request for two tokens, ` Hi` and ` you`."""

    profile: str
    body: bytes
    failure: tuple[int, bytes]
    expected: str
    """A part of the failure's title or message."""
    refuses: frozenset[str] = frozenset()
    """Fields whose mere presence is an error; a profile must never send them."""
    hangs_up: bool = False
    """Whether it closes the connection over those in place of an answer."""
    reason: str = "stop"
    usage: Usage | None = COUNTS
    logprobs: bool = True
    aliases: frozenset[tuple[str, str]] = frozenset()
    path: str = "/v1/completions"

    def __str__(self) -> str:
        return self.profile


def error(**fields: object) -> bytes:
    return json.dumps({"error": fields}).encode()


REPEAT = frozenset({("repetition_penalty", "repeat_penalty")})
SERVERS = (
    Server(
        "jiekou",
        PLAIN,
        (403, b'{"code":403,"reason":"NOT_ENOUGH_BALANCE","message":"not enough balance","metadata":{}}'),
        "Balance or rate limit",
        path="/openai/v1/completions",
    ),
    Server(
        "openai",
        PLAIN.replace(b'"text_offset": [0]', b'"text_offset": [19]'),
        (
            400,
            error(message="Unrecognized request argument supplied: top_k", type="x", param=None, code=None),
        ),
        "Unrecognized request argument",
        frozenset({"top_k", "min_p", "repetition_penalty", "repeat_penalty"}),
    ),
    Server(
        "llamacpp",
        stream(
            part(" Hi", None, chat(" Hi")), part(" you", None, chat(" you")), part("", "stop", usage=USAGE)
        ),
        (400, error(code=400, message="Unsupported param: best_of", type="invalid_request_error")),
        "Unsupported param",
        frozenset({"best_of", "suffix", "repetition_penalty"}),
        aliases=REPEAT,
    ),
    Server(
        "vllm",
        PLAIN.replace(b'" no": -1.5', b'" no": -9999.0'),
        (400, error(message="max_logprobs", type="BadRequestError", param="logprobs", code=400)),
        "max_logprobs",
        frozenset({"best_of"}),
    ),
    Server(
        "sglang",
        stream(
            part(" Hi", None, legacy(" Hi", -1)),
            part(" you", "stop", legacy(" you", -1, top_logprobs=[None]), matched_stop=2),
            part("", None, None, hidden_states=[]),
            whole(usage=USAGE),
        ),
        (
            400,
            b'{"object":"error","message":"empty prompt","type":"BadRequestError","param":null,"code":400}',
        ),
        "empty prompt",
    ),
    Server(
        "ollama",
        stream(
            part(" Hi", usage=dict.fromkeys(USAGE, 0)),
            part(" you", "stop", usage=dict.fromkeys(USAGE, 0)),
            whole(usage=USAGE),
        ),
        (
            400,
            error(
                message="json: cannot unmarshal array into Go struct field .prompt of type string", code=None
            ),
        ),
        "cannot unmarshal array",
        logprobs=False,
    ),
    Server(
        "lmstudio",
        stream(part(" Hi"), part(" you", "stop")),
        (400, b'{"error":"No models loaded"}'),
        "No models loaded",
        usage=None,
        logprobs=False,
        aliases=REPEAT,
    ),
    Server(
        "koboldcpp",
        stream(
            part(" Hi"),
            part(" you"),
            part(
                "",
                None,
                {
                    "tokens": [" Hi", " you"],
                    "token_logprobs": [-0.5, -0.5],
                    "top_logprobs": [{" Hi": -0.5}, {" you": -0.5}],
                    "text_offset": [0, 3],
                },
            ),
            part("", "stop"),
            whole(usage=USAGE),
            end=b"data: [DONE]",
        ),
        (503, b'{"detail":{"msg":"Server is busy; please try again later.","type":"service_unavailable"}}'),
        "Server is busy",
    ),
    Server(
        "tabbyapi",
        stream(
            part(" Hi", None, legacy(" Hi")),
            part(" you", None, legacy(" you")),
            part("", "stop", usage=USAGE),
            end=b"data: [DONE]\r\n\r\n",
            line=b"\r\n",
            before=b": ping - 2026-11-29\r\n\r\n",
        ).replace(b'"model"', b'"model_name"'),
        (422, b'{"detail":[{"loc":["body","n"],"msg":"Input should be a valid integer","type":"int"}]}'),
        "n: Input should be a valid integer",
    ),
    Server(
        "textgen",
        stream(
            part(""),
            part(" Hi", None, legacy(" Hi", top_logprobs_ids=[{"7": -0.5}])),
            part(" you", "stop", legacy(" you", top_logprobs_ids=[{"8": -0.5}])),
            whole(usage=USAGE),
        ),
        (400, error(message="API Batched generation not yet supported.", type="x")),
        "not yet supported",
    ),
    Server(
        "llamacpppython",
        stream(
            part(" Hi", None, legacy(" Hi")),
            part(" you", "stop", legacy(" you")),
            end=b"data: [DONE]\r\n\r\n",
            line=b"\r\n",
            before=b": ping - 2026\r\n\r\n",
        ),
        (500, error(message="logprobs is not supported for models created with logits_all=False", code=None)),
        "logits_all",
        frozenset({"repetition_penalty"}),
        usage=None,
        aliases=REPEAT,
    ),
    Server(
        "mlx",
        stream(part(" Hi"), part(" you", "stop"), before=b": keepalive 512/4096\n\n"),
        (404, b'{"error":"model not found"}'),
        "model not found",
        frozenset({"logprobs", "best_of"}),
        hangs_up=True,
        usage=None,
        logprobs=False,
    ),
    Server(
        "together",
        stream(
            part(" Hi", None, -0.5, token={"id": 7, "text": " Hi", "logprob": -0.5, "special": False}),
            part(" you", None, -0.5, token={"id": 8, "text": " you", "logprob": -0.5, "special": False}),
            part("", "eos", usage=USAGE),
        ),
        (403, error(message="`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs`")),
        "4097",
        reason="eos",
    ),
    Server(
        "fireworks",
        PLAIN,
        (404, error(object="error", type="invalid_request_error", message="Model not found")),
        "Model not found",
        path="/inference/v1/completions",
    ),
    Server(
        "deepseek",
        b": keep-alive\n\n" + PLAIN,
        (402, error(message="Insufficient Balance", type="unknown_error", param=None, code="invalid")),
        "The balance is used up",
        frozenset({"n", "top_k", "min_p", "seed", "logit_bias", "repetition_penalty", "best_of"}),
        path="/beta/completions",
    ),
    Server(
        "openrouter",
        b": OPENROUTER PROCESSING\n\n" + PLAIN,
        (
            429,
            error(
                code=429,
                message="Provider returned error",
                metadata={"provider_name": "x", "raw": '{"error":{"message":"slow down"}}'},
            ),
        ),
        "slow down",
        path="/api/v1/completions",
    ),
    Server("openai-compatible", PLAIN, (500, b"Internal Server Error"), "Internal Server Error"),
)


ONE_CHOICE = {"deepseek", "koboldcpp", "llamacpppython", "lmstudio", "mlx", "ollama", "textgen"}


def profiles() -> dict[str, Endpoint]:
    """The program's own profiles by name."""
    return dict(load_endpoints(Folders.default(os.environ)).endpoints)


def behaving(server: Server) -> Handler:
    """Answers as the server does, with its words for what it does not take."""

    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        body = received.json
        if body.keys() & server.refuses or None in body.values():
            if not server.hangs_up:
                await answering(server.failure[1], server.failure[0], JSON)(received, writer)
            return
        profile = profiles()[server.profile]
        if isinstance(body["prompt"], list) and profile.single_prompt:
            await answering(error(message="prompt must be a string"), 400, JSON)(received, writer)
            return
        await answering(server.body, 200, STREAM)(received, writer)

    return handle


async def run_at(server: Server, handler: Handler, request: Request) -> tuple[Run, list[Received]]:
    """A request as the profile sends it, but to a loopback server at the same path."""
    connections = Connections({})
    async with serving(handler) as loopback:
        path = server.path.removesuffix("/completions")
        url = f"http://127.0.0.1:{loopback.port}{path}"
        endpoint = profiles()[server.profile]._replace(base_url=url, key=None, retries=0)
        offer = offer_split(endpoint, request, Quirks())
        run = Run(request, server.profile, split=None if offer is None else offer.split)
        await connections.send(endpoint, run)
        await connections.aclose()
        return run, loopback.requests


def test_every_profile_has_its_server_here() -> None:
    assert {known.profile for known in SERVERS} == profiles().keys() - {LOCAL}
    assert {name for name, profile in profiles().items() if profile.single_choice} == ONE_CHOICE


@pytest.mark.parametrize("server", SERVERS, ids=str)
async def test_a_profile_sends_what_its_server_takes_and_reads_what_it_answers(server: Server) -> None:
    endpoint = profiles()[server.profile]
    parameters = Parameters(SET)
    assert not list(parameters.problems(endpoint.limits)), "the values are within the profile's limits"
    run, requests = await run_at(server, behaving(server), Request(TextPrompt("Say"), "m", parameters))
    assert run.error is None
    names = dict(server.aliases)
    assert requests[0].json.keys() == ALWAYS | {names.get(name, name) for name in SET.keys() - endpoint.drop}
    assert requests[0].path == server.path
    assert requests[0].json["prompt"] == "Say"
    assert run.outcome is Outcome.COMPLETE
    assert run.ordered[0].text == " Hi you"
    assert run.ordered[0].finish_reason == server.reason
    assert run.usage == server.usage
    known = [token.logprob for token in run.ordered[0]]
    assert known == ([-0.5, -0.5] if server.logprobs else [None, None])
    missing = "logprobs were requested, but none were returned"
    assert (missing in run.notes) is not server.logprobs
    dropped = sorted(endpoint.drop & SET.keys())
    notes = [note for note in run.notes if note.startswith("not sent")]
    assert all(name in notes[0] for name in dropped) if dropped else not notes


@pytest.mark.parametrize("server", SERVERS, ids=str)
async def test_a_failure_in_the_servers_own_shape_is_told_in_its_words(server: Server) -> None:
    status, body = server.failure
    run, _ = await run_at(server, answering(body, status, JSON), Request(TextPrompt("Say"), "m"))
    assert run.error is not None
    assert run.error.status == status
    assert server.expected in f"{run.error.title} {run.error.message}"


@pytest.mark.parametrize("server", SERVERS, ids=str)
async def test_several_prompts_are_answered_by_every_server(server: Server) -> None:
    request = Request(TextsPrompt(("a", "b")), "m", Parameters({"max_tokens": 4}))
    run, requests = await run_at(server, behaving(server), request)
    one_by_one = profiles()[server.profile].single_prompt
    assert [sent.json["prompt"] for sent in requests] == (["a", "b"] if one_by_one else [["a", "b"]])
    assert run.error is None
    assert len(run.choices) == (2 if one_by_one else 1)


@pytest.mark.parametrize("server", [server for server in SERVERS if server.profile in ONE_CHOICE], ids=str)
async def test_two_choices_come_from_every_server_that_gives_one(server: Server) -> None:
    run, requests = await run_at(
        server, behaving(server), Request(TextPrompt("a"), "m", Parameters({"n": 2, "max_tokens": 4}))
    )
    assert [choice.text for choice in run.ordered] == [" Hi you", " Hi you"]
    assert all("n" not in request.json for request in requests)
    assert any("sent as 2 requests" in note for note in run.notes)
