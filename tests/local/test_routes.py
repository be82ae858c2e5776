"""The local server's HTTP face, over a scripted engine."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.local.calls import DEADLINE, Answer, Call, complete, get, listening, post, serving, until
from tests.local.fakes import FACTS, FakeEngine, chunk, tokens
from workbench.domain.json_values import JsonValue
from workbench.local.access import Access
from workbench.local.engine import Chunk, EngineToken
from workbench.local.http_server import MOST_BODY
from workbench.local.routes import MOST_TEXT, CompletionsApp


def choices(answer: Answer) -> list[dict[str, Any]]:
    found = answer.json["choices"]
    assert isinstance(found, list)
    return found


async def test_a_completion_has_the_contracts_shape() -> None:
    async with serving(FakeEngine([tokens(["Hé", "llo"])])) as app:
        answer = await complete(app, prompt="abc", logprobs=1, max_tokens=2)
    body = answer.json
    assert answer.status == 200
    assert str(body.pop("id")).startswith("cmpl-")
    assert isinstance(body.pop("created"), int)
    assert body == {
        "object": "text_completion",
        "model": "fake",
        "choices": [
            {
                "text": "Héllo",
                "index": 0,
                "finish_reason": "length",
                "logprobs": {
                    "tokens": ["Hé", "llo"],
                    "token_logprobs": [-1.0, -1.0],
                    "top_logprobs": [{"Hé": -1.0}, {"llo": -1.0}],
                    "text_offset": [0, 2],
                },
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    }


async def test_a_stream_has_one_id_one_end_a_choice_and_usage_only_if_asked_for() -> None:
    async with serving(FakeEngine([tokens(["a", "b"])])) as app:
        answer = await complete(app, stream=True, n=2, stream_options={"include_usage": True}, logprobs=0)
        plain = await complete(app, stream=True)
    *events, done = answer.events
    chunks = [json.loads(event) for event in events]
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert done == "[DONE]"
    assert len({event["id"] for event in chunks}) == 1
    *earlier, last = chunks
    assert last["choices"] == []
    assert last["usage"] == {"prompt_tokens": 1, "completion_tokens": 4, "total_tokens": 5}
    assert all(event["usage"] is None for event in earlier)
    for index in (0, 1):
        mine = [event["choices"][0] for event in earlier if event["choices"][0]["index"] == index]
        assert "".join(choice["text"] for choice in mine) == "ab"
        assert [choice["finish_reason"] for choice in mine] == [None, None, "length"]
        assert [offset for choice in mine for offset in choice["logprobs"]["text_offset"]] == [0, 1]
    assert all("usage" not in json.loads(event) for event in plain.events[:-1])


async def test_a_stream_is_ascii_as_some_clients_end_lines_at_other_characters() -> None:
    async with serving(FakeEngine([tokens(["a", "é\u2028\x85", "b"])])) as app:
        answer = await complete(app, stream=True, logprobs=1)
    assert answer.content.isascii()
    parts = [json.loads(event)["choices"][0] for event in answer.events[:-1]]
    assert [token for choice in parts for token in choice["logprobs"]["tokens"]] == ["a", "é\u2028\x85", "b"]


async def test_choices_are_numbered_by_prompt_then_choice() -> None:
    engine = FakeEngine([tokens([text]) for text in ("a", "b", "c", "d")])
    async with serving(engine, slots=1) as app:
        answer = await complete(app, prompt=["x", "yy"], n=2)
    assert [(choice["index"], choice["text"]) for choice in choices(answer)] == [
        (0, "a"),
        (1, "b"),
        (2, "c"),
        (3, "d"),
    ]
    (generation,) = engine.generations
    assert [len(prompt) for prompt in generation.prompts] == [1, 2]
    assert answer.json["usage"] == {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


async def test_best_of_returns_the_likeliest_candidates_and_counts_all() -> None:
    scripts = [tokens(["low"], -3.0), tokens(["high", "er"], -0.5), tokens(["mid"], -1.0)]
    async with serving(FakeEngine(scripts), slots=1) as app:
        answer = await complete(app, best_of=3, n=2)
    assert [(choice["text"], choice["index"], choice["logprobs"]) for choice in choices(answer)] == [
        ("higher", 0, None),
        ("mid", 1, None),
    ]
    assert answer.json["usage"] == {"prompt_tokens": 1, "completion_tokens": 4, "total_tokens": 5}


async def test_a_stop_text_ends_a_choice_within_a_token() -> None:
    async with serving(FakeEngine([tokens(["one ", "two", ", three", " four"])])) as app:
        whole = await complete(app, stop="o, t")
        streamed = await complete(app, stop="o, t", stream=True)
    assert [(choice["text"], choice["finish_reason"]) for choice in choices(whole)] == [
        ("one two, t", "stop")
    ]
    parts = [json.loads(event)["choices"][0] for event in streamed.events[:-1]]
    assert "".join(choice["text"] for choice in parts) == "one two, t"
    assert [choice["finish_reason"] for choice in parts] == [None, None, "stop"]


async def test_a_stop_text_that_is_unwanted_is_never_sent() -> None:
    fields: dict[str, JsonValue] = {"stop": "o, t", "include_stop_str_in_output": False, "logprobs": 0}
    async with serving(FakeEngine([tokens(["one ", "two", ", three", " four"])])) as app:
        whole = await complete(app, **fields)
        streamed = await complete(app, **fields, stream=True)
    parts = [json.loads(event)["choices"][0] for event in streamed.events[:-1]]
    for found in (choices(whole), parts):
        assert "".join(choice["text"] for choice in found) == "one tw"
        assert [token for choice in found for token in choice["logprobs"]["tokens"]] == ["one ", "tw"]
        assert found[-1]["finish_reason"] == "stop"


async def test_the_same_seed_gives_the_engine_the_same_seeds() -> None:
    engine = FakeEngine()
    async with serving(engine) as app:
        await complete(app, seed=-7, n=2)
        await complete(app, seed=-7, n=2, stream=True)
    first, second = (generation.seeds for generation in engine.generations)
    assert list(first) == list(second)
    assert len(set(first)) == 2


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_hangs_up_frees_its_slot(stream: bool) -> None:
    engine = FakeEngine(endless=True)
    async with serving(engine) as app:
        content = json.dumps(
            {"model": "fake", "prompt": "x", "n": 5, "max_tokens": 40, "stream": stream}
        ).encode()
        call = Call(app, "POST", "/v1/completions", content)
        running = asyncio.create_task(call.run())
        await until(lambda: engine.running == 1)
        if stream:
            await asyncio.wait_for(call.changed.wait(), DEADLINE)
        call.hang_up()
        await asyncio.gather(running, return_exceptions=True)
        await until(lambda: engine.running == 0)
        engine.endless = False
        assert (await complete(app)).status == 200


async def test_more_requests_than_the_queue_holds_are_told_to_come_back() -> None:
    engine = FakeEngine()
    engine.gate.clear()
    async with serving(engine, slots=2, queue=4) as app:
        calls = [asyncio.create_task(complete(app)) for _ in range(80)]
        await until(lambda: sum(call.done() for call in calls) == 74 and engine.running == 6)
        engine.gate.set()
        answers = await asyncio.gather(*calls)
    assert sorted(answer.status for answer in answers) == [200] * 6 + [429] * 74
    refused = next(answer for answer in answers if answer.status == 429)
    assert int(refused.headers["retry-after"]) > 0
    assert refused.json["error"]["code"] == "RATE_LIMIT_EXCEEDED"  # type: ignore[index, call-overload]


async def test_prompt_and_answer_must_fit_the_context() -> None:
    async with serving(FakeEngine()) as app:
        fits = await complete(app, prompt="x" * 60, max_tokens=4)
        over = await complete(app, prompt="x" * 60, max_tokens=5)
        far_over = await complete(app, prompt="x" * 100_000)
    assert fits.status == 200
    assert over.status == 400
    assert over.json["error"]["param"] == "max_tokens"  # type: ignore[index, call-overload]
    assert far_over.status == 400


async def test_an_empty_prompt_begins_the_text() -> None:
    engine = FakeEngine()
    async with serving(engine) as app:
        assert (await complete(app, prompt="")).status == 200
    assert engine.generations[0].prompts == [[1]]


@pytest.mark.parametrize(
    ("fields", "status", "param"),
    [
        ({"model": "other"}, 404, "model"),
        ({"prompt": [1000]}, 400, "prompt"),
        ({"prompt": [10**30]}, 400, "prompt"),
        ({"logit_bias": {"1000": 1}}, 400, "logit_bias"),
        ({"logit_bias": {"9" * 5000: 1}}, 400, "logit_bias"),
        ({"prompt": ["x"] * 100, "n": 11}, 400, "n"),
    ],
)
async def test_what_the_model_cannot_serve_is_refused(
    fields: dict[str, JsonValue], status: int, param: str
) -> None:
    async with serving(FakeEngine()) as app:
        answer = await complete(app, **fields)
    assert answer.status == status
    assert answer.json["error"]["param"] == param  # type: ignore[index, call-overload]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_refusal_of_the_engine_is_the_clients_to_mend(stream: bool) -> None:
    async with serving(FakeEngine([[Chunk(error="has no root", param="grammar")]])) as app:
        answer = await complete(app, grammar="x ::=", stream=stream)
    if stream:
        assert json.loads(answer.events[-1])["error"]["param"] == "grammar"
    else:
        assert (answer.status, answer.json["error"]["param"]) == (400, "grammar")  # type: ignore[index, call-overload]


async def test_an_engine_that_breaks_off_is_no_answer() -> None:
    async with serving(FakeEngine([[chunk("a"), Chunk(error="the engine has stopped")]])) as app:
        whole = await complete(app)
        streamed = await complete(app, stream=True)
    assert whole.status == 503
    first, last = map(json.loads, streamed.events)
    assert first["choices"][0]["text"] == "a"
    assert "stopped" in last["error"]["message"]


class BrokenEngine(FakeEngine):
    """Raises where it is asked for a name, of an alternative to the second token."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.scripts = [[chunk("a"), Chunk(token=EngineToken(1, b"b", -1.0, (EngineToken(2, b"", -1.0),)))]]

    def token_bytes(self, token: int, special: bool) -> bytes:
        raise ZeroDivisionError("while reading the prompt")


@pytest.mark.parametrize("n", [1, 3])
async def test_an_engine_that_raises_is_an_error_of_the_server(
    n: int, capsys: pytest.CaptureFixture[str]
) -> None:
    async with asyncio.timeout(DEADLINE), serving(BrokenEngine()) as app:
        whole = await complete(app, n=n, logprobs=1)
        streamed = await complete(app, n=n, logprobs=1, stream=True)
        assert (await get(app, "/health")).status == 200
    assert whole.status == 500
    for error in (json.loads(whole.content)["error"], json.loads(streamed.events[-1])["error"]):
        assert error["type"] == "server_error"
        assert error["code"] == "INTERNAL_ERROR"
    assert streamed.events[0].startswith("{")
    logged = capsys.readouterr().err
    assert logged.count("ZeroDivisionError") == 2
    assert "while reading" not in logged


async def test_while_loading_everything_says_so() -> None:
    async with listening(CompletionsApp("fake", 1, 1, Access())) as app:
        for answer in (await get(app, "/health"), await get(app, "/v1/models"), await complete(app)):
            assert answer.status == 503
            assert answer.headers["retry-after"] == "1"


async def test_a_key_is_asked_for_everywhere_but_at_the_door() -> None:
    async with serving(FakeEngine(), key="secret") as app:
        assert (await get(app, "/health")).status == 200
        for path in ("/v1/models", "/props", "/openapi.json", "/nowhere"):
            assert (await get(app, path)).status == 401
            assert (await get(app, path, authorization="Bearer secreT")).status == 401
        wrong = await get(app, "/v1/models", authorization="Bearer \xff")
        assert (await get(app, "/v1/models", authorization="Bearer secret")).status == 200
    assert wrong.json["error"]["code"] == "FAILED_TO_AUTH"  # type: ignore[index, call-overload]
    assert b"secret" not in wrong.content


async def test_other_paths_methods_and_types_are_refused_in_the_same_shape() -> None:
    async with serving(FakeEngine()) as app:
        nowhere = await get(app, "/v2/completions")
        method = await get(app, "/v1/completions")
        kind = await Call(app, "POST", "/v1/completions", b"{}", {"content-type": "text/plain"}).run()
        length = await post(app, "/v1/completions", b" " * (MOST_BODY + 1))
        json_with_charset = await post(
            app,
            "/v1/completions",
            b'{"model":"fake","prompt":"x"}',
            **{"content-type": "application/json; charset=utf-8"},
        )
    assert [nowhere.status, method.status, kind.status, length.status] == [404, 405, 415, 413]
    assert method.headers["allow"] == "POST"
    for answer in (nowhere, method, kind, length):
        assert set(answer.json["error"]) == {"message", "type", "param", "code"}  # type: ignore[arg-type]
    assert json_with_charset.status == 200


async def test_the_model_is_listed_and_described() -> None:
    async with serving(FakeEngine()) as app:
        models, props = (await get(app, "/v1/models")).json, (await get(app, "/props")).json
    listed = models["data"]
    assert isinstance(listed, list)
    assert listed[0]["id"] == "fake"
    assert props["default_generation_settings"] == {"n_ctx": FACTS.context}
    assert props["chat_template"] == FACTS.chat_template


async def test_texts_are_tokenised_and_back() -> None:
    async with serving(FakeEngine()) as app:
        plain = await post(app, "/tokenize", b'{"content": "ab"}')
        pieces = await post(app, "/tokenize", b'{"content": "a", "with_pieces": true}')
        back = await post(app, "/detokenize", b'{"tokens": [5, 6]}')
    assert plain.json == {"tokens": [97, 98]}
    assert pieces.json == {"tokens": [{"id": 97, "piece": "a"}]}
    assert back.json == {"content": "\x05\x06", "prompt": "\x05\x06"}


@pytest.mark.parametrize(
    ("path", "content", "status"),
    [
        ("/tokenize", b"{}", 400),
        ("/tokenize", b'{"content": 5}', 400),
        ("/tokenize", b'{"content": "\\ud800"}', 400),
        ("/tokenize", b'{"content": "a", "with_pieces": 1}', 400),
        ("/tokenize", b'{"content": "a", "other": 1}', 400),
        ("/tokenize", b'{"content": "' + b"a" * (MOST_TEXT + 1) + b'"}', 413),
        ("/detokenize", b"{}", 400),
        ("/detokenize", b'{"tokens": [true]}', 400),
        ("/detokenize", b'{"tokens": [-1]}', 400),
        ("/detokenize", b'{"tokens": [1000]}', 400),
        ("/detokenize", b'{"tokens": [1], "other": 1}', 400),
    ],
)
async def test_bad_texts_and_tokens_are_refused(path: str, content: bytes, status: int) -> None:
    async with serving(FakeEngine()) as app:
        assert (await post(app, path, content)).status == status


async def test_the_description_names_every_field() -> None:
    async with serving(FakeEngine()) as app:
        document: Any = (await get(app, "/openapi.json")).json
    schema = document["paths"]["/v1/completions"]["post"]["requestBody"]["content"]["application/json"][
        "schema"
    ]
    assert {"prompt", "model", "stop", "logit_bias", "stream_options", "grammar"} <= set(schema["properties"])
    assert schema["properties"]["temperature"]["maximum"] == 2
    assert schema["additionalProperties"] is False


async def test_stopping_the_server_ends_what_runs_with_a_word() -> None:
    engine = FakeEngine(endless=True)
    server = CompletionsApp("fake", 1, 4, Access())
    server.attach(engine)
    async with listening(server) as app:
        streamed, waiting = (
            asyncio.create_task(complete(app, stream=stream, prompt="x")) for stream in (True, False)
        )
        await until(lambda: engine.running == 2)
        server.stop()
        async with asyncio.timeout(DEADLINE):
            answers = await asyncio.gather(streamed, waiting)
        engine.close()
    await until(lambda: engine.running == 0)
    assert "error" in json.loads(answers[0].events[-1])
    assert answers[1].status == 503
