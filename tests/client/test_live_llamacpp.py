"""The client against a server that nobody here wrote: llama.cpp's own, with the recorded requests."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.client.cases import CASES, recordings, texts
from workbench.client.client import Client
from workbench.domain.endpoint import Endpoint, EnvironmentKey
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Outcome, Run
from workbench.local.model_file import find_model
from workbench.runner.connections import Connections

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="the engine is not installed"),
]

_SERVER = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_parallel, params.n_ctx, params.port, params.verbosity = 4, 8192, 0, 0
params.api_keys = ["live-key"]
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""
_REQUESTS = sorted(
    path.name.removesuffix(".request.json")
    for path in (CASES / "recorded").glob("llamacpp-*.request.json")
    if "error" not in path.name
)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    """llama.cpp's server with the embedded model, in a process of its own."""
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(find_model())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            address = next(line.strip() for line in process.stdout if line.startswith("http"))
            yield Endpoint("live", address, key=EnvironmentKey("LIVE_KEY"), retries=5)
        finally:
            process.kill()


async def complete(endpoint: Endpoint, request: Request) -> Run:
    run = Run(request)
    connections = Connections({"LIVE_KEY": "live-key"})
    await connections.send(endpoint, run)
    await connections.aclose()
    return run


@pytest.mark.parametrize("name", _REQUESTS)
async def test_a_recorded_request_is_answered_as_it_was_recorded(endpoint: Endpoint, name: str) -> None:
    body = json.loads((CASES / "recorded" / f"{name}.request.json").read_text("utf-8"))
    recorded = next(recording for recording in recordings() if recording.name == name)
    request = Request.from_body({"stream": False, **body})
    run = await complete(endpoint, request)
    assert run.error is None
    assert run.outcome is Outcome.COMPLETE
    assert recorded.texts is not None
    assert len(run.choices) == len(recorded.texts)
    assert run.usage is not None
    assert run.usage.prompt_tokens > 0
    requested = request.parameters.get("logprobs")
    for choice in run.ordered:
        assert choice.text == "".join(choice.texts())
        assert "\ufffd" not in choice.text
        for token in choice:
            if isinstance(requested, int) and token.id is not None:
                assert token.logprob is not None
                assert token.logprob <= 0
                assert len(token.alternatives) in (requested, requested + 1)
        if requested is not None:
            assert sum(token.id is not None for token in choice) > 0
    if body.get("temperature") == 0:
        assert [text[:8] for text in texts(run)] == [text[:8] for text in recorded.texts]


async def test_models_tokens_and_properties_are_told(endpoint: Endpoint) -> None:
    client = Client({"LIVE_KEY": "live-key"})
    models = await client.models(endpoint)
    assert any("SmolLM2" in name or "smollm2" in name for name in models)
    tokens = await client.tokenize(endpoint, "Hello 🙂")
    assert b"".join(data for _, data in tokens).startswith(b"Hello")
    assert await client.detokenize(endpoint, [token for token, _ in tokens]) == "Hello 🙂"
    assert "default_generation_settings" in await client.props(endpoint)
    await client.aclose()


async def test_a_wrong_key_is_refused_in_the_servers_words(endpoint: Endpoint) -> None:
    run = Run(Request(TextPrompt("Hi")))
    connections = Connections({"LIVE_KEY": "wrong"})
    await connections.send(endpoint, run)
    await connections.aclose()
    assert run.error is not None
    assert run.error.status == 401
    assert "Invalid API Key" in run.error.message


async def test_a_prompt_beyond_the_context_states_both_numbers(endpoint: Endpoint) -> None:
    run = await complete(endpoint, Request(TextPrompt("word " * 9000)))
    assert run.error is not None
    assert "does not fit the context" in run.error.title


async def test_a_stopped_stream_frees_the_server_for_the_next_one(endpoint: Endpoint) -> None:
    connections = Connections({"LIVE_KEY": "live-key"})
    run = Run(
        Request(TextPrompt("Once upon a time"), parameters=Parameters({"max_tokens": 1500, "logprobs": 5}))
    )
    task = asyncio.create_task(connections.send(endpoint, run))
    async with asyncio.timeout(60):
        while run.tokens < 5:  # noqa: ASYNC110 (the store has no event)
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert run.outcome is Outcome.STOPPED
    assert 5 <= run.tokens < 1500
    await connections.aclose()
    again = await complete(endpoint, Request(TextPrompt("Hi"), parameters=Parameters({"max_tokens": 2})))
    assert again.outcome is Outcome.COMPLETE
