"""The contract against the real embedded model."""

from __future__ import annotations

import json
import math
import socket
import threading
import time
from collections.abc import Generator
from typing import Any

import numpy as np
import pytest

from tests.local.conftest import KEY, MODEL, Server
from workbench.local.llama_model import LlamaModel
from workbench.local.model_file import find_model

pytestmark = pytest.mark.slow

MANY_BYTES = "👩‍🚀🧑‍🔬👨‍🍳"


def check_logprobs(choice: dict[str, Any], wanted: int) -> None:
    logprobs = choice["logprobs"]
    assert "".join(logprobs["tokens"]) == choice["text"]
    offset = logprobs["text_offset"][0] if logprobs["text_offset"] else 0
    for token, value, top, at in zip(
        logprobs["tokens"],
        logprobs["token_logprobs"],
        logprobs["top_logprobs"],
        logprobs["text_offset"],
        strict=True,
    ):
        assert at == offset
        offset += len(token)
        assert value is None or (value <= 0 and math.isfinite(value))
        assert top[token] == value
        assert len(top) in (max(wanted, 1), wanted + 1)


def test_eight_tokens_with_five_alternatives_each(server: Server) -> None:
    body = server.complete(logprobs=5, seed=1, temperature=0)
    (choice,) = body["choices"]
    assert choice["text"].startswith(" Paris")
    assert len(choice["logprobs"]["tokens"]) == 8
    check_logprobs(choice, 5)
    assert choice["finish_reason"] == "length"
    assert body["usage"] == {"prompt_tokens": 5, "completion_tokens": 8, "total_tokens": 13}


def test_no_alternatives_differ_from_no_logprobs(server: Server) -> None:
    check_logprobs(server.complete(logprobs=0)["choices"][0], 0)
    assert server.complete()["choices"][0]["logprobs"] is None


def test_the_same_seed_repeats_streamed_or_not_and_beside_other_choices(server: Server) -> None:
    wanted = {"seed": -(2**63), "temperature": 1.5, "max_tokens": 24}
    alone = server.complete(**wanted)["choices"][0]["text"]
    beside = [choice["text"] for choice in server.complete(**wanted, n=4)["choices"]]
    streamed = "".join(event["choices"][0]["text"] for event in server.stream(**wanted))
    assert beside[0] == alone == streamed
    assert len(set(beside)) == 4


def test_unset_is_the_models_own_distribution(server: Server) -> None:
    """Whatever is neutral, said aloud, gives the same text as unset."""
    neutral = {
        "temperature": 1,
        "top_p": 1,
        "min_p": 0,
        "frequency_penalty": 0,
        "presence_penalty": 0,
        "repetition_penalty": 1,
    }
    unset = server.complete(seed=5, max_tokens=32)["choices"][0]["text"]
    assert server.complete(seed=5, max_tokens=32, **neutral)["choices"][0]["text"] == unset


def test_each_sampling_field_acts(server: Server) -> None:
    plain = [choice["text"] for choice in server.complete(seed=3, temperature=2, n=3)["choices"]]
    greedy = server.complete(temperature=0)["choices"][0]["text"]
    for narrow in ({"top_k": 1}, {"top_p": 1e-6}, {"min_p": 1}):
        texts = {
            choice["text"] for choice in server.complete(seed=3, temperature=2, n=3, **narrow)["choices"]
        }
        assert texts == {greedy} != set(plain)
    repeating = {"prompt": "a a a a a a a a", "temperature": 0, "max_tokens": 12}
    text = server.complete(**repeating)["choices"][0]["text"]
    for penalty in ({"repetition_penalty": 2}, {"frequency_penalty": 2}, {"presence_penalty": 2}):
        assert server.complete(**repeating, **penalty)["choices"][0]["text"] != text


def test_numbers_too_small_for_the_engine_do_what_the_smallest_it_can_hold_would(server: Server) -> None:
    greedy = server.complete(temperature=0)["choices"][0]["text"]
    for tiny in ({"temperature": 1e-40}, {"top_p": 1e-40}, {"temperature": 1e-7, "seed": 4}):
        assert server.complete(**tiny)["choices"][0]["text"] == greedy
    penalised = [
        server.complete(temperature=0, repetition_penalty=penalty)["choices"][0]["text"]
        for penalty in (1e-40, 1e-22)
    ]
    assert penalised[0] == penalised[1] != ""


def test_a_bias_forces_and_forbids_and_logprobs_stay_raw(server: Server) -> None:
    (token,) = server.call("/tokenize", {"content": " the"})["tokens"]
    forced = server.complete(logit_bias={str(token): 100}, logprobs=1)["choices"][0]
    assert forced["text"] == " the" * 8
    assert forced["logprobs"]["token_logprobs"][0] < -1
    (paris,) = server.call("/tokenize", {"content": " Paris"})["tokens"]
    forbidden = server.complete(logit_bias={str(paris): -100}, temperature=0)["choices"][0]
    assert not forbidden["text"].startswith(" Paris")


@pytest.mark.parametrize("stream", [False, True])
def test_the_text_ends_with_its_stop_text(server: Server, stream: bool) -> None:
    fields = {
        "prompt": "1, 2, 3, 4,",
        "temperature": 0,
        "max_tokens": 40,
        "stop": [", 8", "zzz"],
        "logprobs": 2,
    }
    if stream:
        parts = [event["choices"][0] for event in server.stream(**fields)]
        text = "".join(choice["text"] for choice in parts)
        assert "".join(token for choice in parts for token in choice["logprobs"]["tokens"]) == text
        assert [choice["finish_reason"] for choice in parts if choice["finish_reason"]] == ["stop"]
    else:
        choice = server.complete(**fields)["choices"][0]
        text = choice["text"]
        check_logprobs(choice, 2)
    assert text == " 5, 6, 7, 8"


def test_characters_of_several_tokens_are_whole(server: Server) -> None:
    prompt = f"Emoji: {MANY_BYTES} {MANY_BYTES} {MANY_BYTES}"
    for choice in server.complete(prompt=prompt, max_tokens=40, logprobs=3, seed=2, n=4)["choices"]:
        check_logprobs(choice, 3)
        assert "\ufffd" not in choice["text"]
    streamed = [
        event["choices"][0] for event in server.stream(prompt=prompt, max_tokens=40, logprobs=3, seed=2)
    ]
    assert all("".join(choice["logprobs"]["tokens"]) == choice["text"] for choice in streamed)


def test_the_natural_end_is_a_token_without_text(server: Server) -> None:
    (end,) = server.call("/tokenize", {"content": "<|im_end|>"})["tokens"]
    body = server.complete(logit_bias={str(end): 100}, logprobs=2)
    (choice,) = body["choices"]
    assert (choice["text"], choice["finish_reason"], choice["logprobs"]["tokens"]) == ("", "stop", [""])
    assert body["usage"]["completion_tokens"] == 1


def test_best_of_returns_the_likeliest(server: Server) -> None:
    fields = {"seed": 4, "temperature": 1.3, "logprobs": 0}
    every = server.complete(**fields, n=5)["choices"]
    best = server.complete(**fields, n=2, best_of=5)

    def mean(choice: dict[str, Any]) -> float:
        values = choice["logprobs"]["token_logprobs"]
        return float(sum(values) / len(values))

    expected = sorted(every, key=mean, reverse=True)[:2]
    assert [choice["text"] for choice in best["choices"]] == [choice["text"] for choice in expected]
    assert best["usage"]["completion_tokens"] == 40


def test_more_choices_than_slots_and_every_kind_of_prompt(server: Server) -> None:
    body = server.complete(prompt=["Hi", "One, two,", ""], n=6, max_tokens=2)
    assert [choice["index"] for choice in body["choices"]] == list(range(18))
    assert body["usage"]["completion_tokens"] == 36
    ids = server.call("/tokenize", {"content": "The capital of France is"})["tokens"]
    texts = [
        choice["text"]
        for prompt in (ids, [ids, ids])
        for choice in server.complete(prompt=prompt, temperature=0)["choices"]
    ]
    assert texts == [server.complete(temperature=0)["choices"][0]["text"]] * 3


def test_eighty_requests_at_once_are_answered_or_turned_away(server: Server) -> None:
    statuses: list[int] = []

    def ask() -> None:
        statuses.append(server.send("/v1/completions", {"model": MODEL, "prompt": "Hi", "max_tokens": 4})[0])

    threads = [threading.Thread(target=ask) for _ in range(80)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(statuses) == 80
    assert set(statuses) <= {200, 429}
    assert statuses.count(200) >= 32


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("moment", ["prompt", "answer"])
def test_hanging_up_frees_every_slot_within_a_second(server: Server, moment: str, stream: bool) -> None:
    """Four clients fill the slots and hang up; a fifth is served at once."""
    slow = {"model": MODEL, "prompt": list(range(100, 3100)), "max_tokens": 900, "stream": stream}
    if moment == "answer":
        slow = {"model": MODEL, "prompt": "Once", "max_tokens": 4000, "stream": stream, "ignore_eos": True}
    alone = seconds_for_a_token(server)
    callers = [hold(server, slow, wait_for_answer=stream and moment == "answer") for _ in range(4)]
    for caller in callers:
        next(caller)
    time.sleep(0.5)  # The engine is at work by now; nothing outside tells when.
    for caller in callers:
        caller.close()
    # One second to let go, and room for a busy machine: what they asked for takes far longer than all of it.
    assert seconds_for_a_token(server) < 5 + 3 * alone


def seconds_for_a_token(server: Server) -> float:
    since = time.monotonic()
    server.complete(max_tokens=1)
    return time.monotonic() - since


def hold(server: Server, body: dict[str, Any], wait_for_answer: bool) -> Generator[None, None, None]:
    content = json.dumps(body).encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        head = (
            f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        connection.sendall(head.encode() + content)
        if wait_for_answer:
            connection.recv(1)
        yield


@pytest.mark.parametrize(
    "grammar",
    [
        "root ::= " + '"a"? ' * 1000,
        'root ::= [a-z] ( "a" | "b" )? ' + '("a" | "b")? ' * 1000,
        'root ::= x x x x x x x x\nx ::= y y y y y y y y\ny ::= z z z z z z z z\nz ::= "a"? "b"? "c"?',
    ],
)
def test_a_grammar_that_costs_too_much_is_refused_and_holds_up_nobody(server: Server, grammar: str) -> None:
    answers: list[tuple[int, bytes]] = []
    body = {"model": MODEL, "prompt": "x", "grammar": grammar, "max_tokens": 40, "temperature": 0}
    asking = threading.Thread(target=lambda: answers.append(server.send("/v1/completions", body)))
    asking.start()
    assert server.complete(max_tokens=4, ignore_eos=True)["usage"]["completion_tokens"] == 4
    asking.join(100)
    ((status, content),) = answers
    assert status == 400
    assert json.loads(content)["error"]["param"] == "grammar"
    assert "grammar" in json.loads(content)["error"]["message"]


def test_a_grammar_rules_every_choice_and_brackets_in_its_texts_are_texts(server: Server) -> None:
    texts = [choice["text"] for choice in server.complete(grammar='root ::= " yes" | " no"', n=6)["choices"]]
    assert set(texts) <= {" yes", " no"}
    brackets = "(" * 100
    assert server.complete(grammar=f'root ::= "{brackets}"', max_tokens=99)["choices"][0]["text"] == brackets


@pytest.mark.parametrize("grammar", ["root ::= (", "root ::= root", "x ::= y", "\0", "(" * 60_000])
def test_a_grammar_that_cannot_be_read_is_refused(server: Server, grammar: str) -> None:
    status, content = server.send("/v1/completions", {"model": MODEL, "prompt": "x", "grammar": grammar})
    assert status == 400
    assert json.loads(content)["error"]["param"] == "grammar"


def test_tokens_and_text_go_both_ways(server: Server) -> None:
    tokens = server.call("/tokenize", {"content": f"a {MANY_BYTES}", "with_pieces": True})["tokens"]
    text = server.call("/detokenize", {"tokens": [token["id"] for token in tokens]})
    assert text == {"content": f"a {MANY_BYTES}", "prompt": f"a {MANY_BYTES}"}
    assert server.call("/props")["chat_template"]


LONG = "It was a bright cold day in April, and the clocks were striking thirteen. "


@pytest.mark.timeout(900)
@pytest.mark.parametrize("length", [5, 130, 300, 1100])
def test_equal_requests_have_equal_answers_to_the_last_bit(server: Server, length: int) -> None:
    """The prompt is as long as that or longer than a batch, alone or beside answers that grow meanwhile."""
    ids = (server.call("/tokenize", {"content": LONG})["tokens"] * 200)[:length]
    fields = {"prompt": ids, "logprobs": 5, "max_tokens": 6, "seed": 7, "temperature": 1}

    def answer() -> Any:
        return server.complete(**fields)["choices"]

    alone = answer()
    others = {"model": MODEL, "prompt": ["Once", LONG], "max_tokens": 900, "stream": True, "ignore_eos": True}
    with server.opened("/v1/completions", others) as beside:
        assert beside.read(1)
        assert answer() == alone
    if length < 1000:
        assert [answer() for _ in range(3)] == [alone] * 3
        together = server.complete(**{**fields, "n": 3})["choices"]
        assert together[0] == alone[0]
        parts = [event["choices"][0] for event in server.stream(**fields)]
        streamed = [value for choice in parts for value in choice["logprobs"]["token_logprobs"]]
        assert streamed == alone[0]["logprobs"]["token_logprobs"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("max_tokens", [0, 3])
def test_an_echoed_prompt_has_one_entry_for_each_token(server: Server, stream: bool, max_tokens: int) -> None:
    text = f"Emoji {MANY_BYTES}, 日本語: " + LONG * 10
    ids = server.call("/tokenize", {"content": text})["tokens"]
    assert len(ids) > 128
    fields: dict[str, Any] = {
        "prompt": [text, "Hi"],
        "echo": True,
        "logprobs": 2,
        "max_tokens": max_tokens,
        "temperature": 0,
    }
    if stream:
        choices = [
            collected([event["choices"][0] for event in server.stream(**fields)], index) for index in (0, 1)
        ]
    else:
        choices = server.complete(**fields)["choices"]
    first, second = choices
    made = first["logprobs"]
    assert first["text"].startswith(text)
    assert len(made["tokens"]) == len(ids) + max_tokens
    assert made["token_logprobs"][0] is made["top_logprobs"][0] is None
    offset = -1
    for token, value, top, at in zip(
        *(made[name][1:] for name in ("tokens", "token_logprobs", "top_logprobs", "text_offset")), strict=True
    ):
        assert top[token] == value <= max(top.values())
        assert offset <= at <= len(first["text"])
        offset = at
        if not token.startswith("bytes:"):
            assert first["text"][at : at + len(token)] == token
    assert second["logprobs"]["tokens"][0] == "Hi"
    # The same tokens, given as such, and the greedy answer as part of the prompt, have the same logprobs.
    again = server.complete(**{**fields, "prompt": ids})["choices"][0]
    assert again["logprobs"] == made


def collected(parts: list[dict[str, Any]], index: int) -> dict[str, Any]:
    """One choice of a stream as if it had not been streamed."""
    mine = [choice for choice in parts if choice["index"] == index]
    names = ("tokens", "token_logprobs", "top_logprobs", "text_offset")
    return {
        "text": "".join(choice["text"] for choice in mine),
        "logprobs": {
            name: [value for choice in mine for value in choice["logprobs"][name]] for name in names
        },
    }


def test_prompt_logprobs_are_those_of_the_models_own_distribution(server: Server) -> None:
    ids = server.call("/tokenize", {"content": LONG * 10})["tokens"]
    answer = server.complete(prompt=ids, echo=True, logprobs=1, max_tokens=0)["choices"][0]["logprobs"]
    model = LlamaModel(find_model(), 1, 256)
    logits = np.concatenate(
        [
            model.evaluate_prompt(0, start, ids[start : start + 100], every=True).astype(np.float64)
            for start in range(0, len(ids), 100)
        ]
    )
    model.close()
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    expected = np.log(probabilities[np.arange(len(ids) - 1), ids[1:]])
    assert np.allclose(answer["token_logprobs"][1:], expected, rtol=1e-3)
    best = [max(top.values()) for top in answer["top_logprobs"][1:]]
    assert np.allclose(best, np.log(probabilities.max(axis=1))[:-1], rtol=1e-3)
