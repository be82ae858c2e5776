"""Refusing what the contract does not allow."""

from __future__ import annotations

import json

import pytest

from workbench.domain.json_values import JsonObject, JsonValue
from workbench.domain.prompt import TokenListsPrompt
from workbench.local.refusal import Refusal
from workbench.local.request_validation import BODY_FIELDS, parse_json, parse_order
from workbench.local.sampler_options import SamplerOptions


def refuse(**fields: JsonValue) -> Refusal:
    with pytest.raises(Refusal) as caught:
        parse_order({"model": "m", "prompt": "x", **fields})
    return caught.value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_tokens", True),
        ("max_tokens", 1.5),
        ("max_tokens", 0),
        ("max_tokens", -1),
        ("max_tokens", "5"),
        ("temperature", 2.1),
        ("temperature", "1"),
        ("temperature", 10**400),
        ("top_p", 0),
        ("top_k", 0),
        ("top_k", 129),
        ("min_p", -0.1),
        ("n", 0),
        ("n", 129),
        ("seed", 2**63),
        ("seed", 1.0),
        ("logprobs", 6),
        ("logprobs", -1),
        ("frequency_penalty", -2.5),
        ("presence_penalty", [1]),
        ("repetition_penalty", 0),
        ("stop", ""),
        ("stop", ["a", ""]),
        ("stop", ["1", "2", "3", "4", "5"]),
        ("stop", [1]),
        ("stop", "\ud800"),
        ("logit_bias", {"a": 1}),
        ("logit_bias", {"1": 101}),
        ("logit_bias", {"1": 0.5}),
        ("logit_bias", {"1": True}),
        ("logit_bias", {"1": 10**400}),
        ("logit_bias", [1]),
        ("stream", 1),
        ("stream", "true"),
        ("prompt", 5),
        ("prompt", []),
        ("prompt", [[]]),
        ("prompt", [1, "a"]),
        ("prompt", [-1]),
        ("prompt", [True]),
        ("prompt", "\udc00"),
        ("prompt", None),
        ("model", 5),
        ("model", None),
        ("model", ""),
        ("prompt", [""] * 1_000_000),
        ("prompt", ["x"] * 1025),
        ("prompt", [[1]] * 1025),
        ("prompt", [1] * 1_100_000),
        ("prompt", [[1] * 600_000] * 2),
        ("best_of", 0),
        ("stream_options", {"include_usage": True}),
        ("stream_options", []),
        ("suffix", "x"),
        ("suffix", False),
        ("echo", 0),
        ("user", 5),
        ("include_stop_str_in_output", 1),
        ("temprature", 1),
        ("include_usage", True),
        ("unknown", None),
        ("grammar", 1),
        ("grammar", "x" * 100_000),
        ("dry_multiplier", "1"),
        ("dry_multiplier", 1e9),
        ("mirostat", 1.0),
        ("ignore_eos", 1),
    ],
)
def test_a_bad_field_is_refused_by_name(name: str, value: JsonValue) -> None:
    refusal = refuse(**{name: value})
    assert (refusal.status, refusal.param) == (400, name)
    assert name in refusal.message
    assert refusal.body()["error"] == {
        "message": refusal.message,
        "type": "invalid_request_error",
        "param": name,
        "code": "INVALID_REQUEST_BODY",
    }


def test_null_is_unset_for_every_optional_field() -> None:
    fields = (
        *(field.name for field in BODY_FIELDS),
        *("stream_options", "suffix", "echo", "user", "include_stop_str_in_output"),
    )
    order = parse_order({"model": "m", "prompt": "x", **dict.fromkeys(fields)})
    assert (order.sampling, order.stream, order.max_tokens, order.n) == (SamplerOptions(), False, 16, 1)
    assert (order.logprobs, order.seed, order.stops, order.candidates) == (None, None, (), 1)
    assert order.includes_stop


def test_what_asks_for_nothing_is_accepted() -> None:
    neutral: JsonObject = {"suffix": "", "echo": False, "user": "someone"}
    assert parse_order({"model": "m", "prompt": "x", **neutral}) == parse_order({"model": "m", "prompt": "x"})


def test_a_missing_model_is_refused() -> None:
    with pytest.raises(Refusal) as caught:
        parse_order({"prompt": "x"})
    assert caught.value.param == "model"


def test_choices_are_counted_before_anything_is_tokenised() -> None:
    assert refuse(prompt=["x"] * 100, n=11).param == "n"
    assert refuse(prompt=["x"] * 100, n=1, best_of=11).param == "best_of"


@pytest.mark.parametrize(
    ("name", "value", "taken"),
    [
        ("temperature", "1e-40", 0),
        ("temperature", "1e-400", 0),
        ("temperature", "9e-7", 0),
        ("temperature", "1e-6", 1e-6),
        ("temperature", "-0.0", 0),
        ("repetition_penalty", "1e-40", 1e-22),
        ("repetition_penalty", "1e-400", 1e-22),
        ("top_p", "1e-40", 2**-126),
        ("top_p", "0.000E-5", None),
        ("top_p", "1e-400", 2**-126),
        ("min_p", "4e-320", 2**-126),
        ("frequency_penalty", "-1e-300", -(2**-126)),
        ("presence_penalty", "-1e-999", -(2**-126)),
        ("dry_multiplier", "1e-45", 2**-126),
        ("temperature", "0.7", 0.7),
    ],
)
def test_a_number_too_small_for_the_engine_is_the_nearest_it_can_hold(
    name: str, value: str, taken: float | None
) -> None:
    body = parse_json(f'{{"model": "m", "prompt": "x", "{name}": {value}}}'.encode())
    if taken is None:
        with pytest.raises(Refusal):
            parse_order(body)
    else:
        assert getattr(parse_order(body).sampling, name) == taken


def test_a_stop_list_that_is_empty_is_unset() -> None:
    assert parse_order({"model": "m", "prompt": "x", "stop": []}).stops == ()


def test_best_of_must_reach_n() -> None:
    assert refuse(n=3, best_of=2).param == "best_of"


def test_best_of_cannot_be_streamed() -> None:
    assert refuse(best_of=2, stream=True).param == "best_of"
    assert parse_order({"model": "m", "prompt": "x", "best_of": 1, "stream": True}).stream


def test_stream_options_ask_for_usage() -> None:
    assert parse_order(
        {"model": "m", "prompt": "x", "stream": True, "stream_options": {"include_usage": True}}
    ).include_usage
    assert refuse(stream=True, stream_options={"include_usage": 1}).param == "stream_options"
    assert not parse_order(
        {
            "model": "m",
            "prompt": "x",
            "stream": True,
            "stream_options": {"include_usage": None, "include_obfuscation": True},
        }
    ).include_usage
    assert refuse(stream=True, stream_options={"include_obfuscation": "no"}).param == "stream_options"
    assert refuse(stream=True, stream_options={"other": True}).param == "stream_options"


def test_all_kinds_of_prompt_are_taken() -> None:
    assert parse_order({"model": "m", "prompt": [[1, 2], [3]]}).prompt == TokenListsPrompt(((1, 2), (3,)))


def test_the_engines_own_fields_pass_through() -> None:
    order = parse_order(
        {"model": "m", "prompt": "x", "grammar": 'root ::= "a"', "mirostat": 2, "ignore_eos": True}
    )
    assert order.sampling == SamplerOptions(grammar='root ::= "a"', mirostat=2, ignore_eos=True)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'"x"',
        b"\xff{}",
        b'{"temperature": NaN}',
        b'{"temperature": Infinity}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"seed": ' + b"9" * 5000 + b"}",
    ],
)
def test_what_is_no_json_object_is_refused(content: bytes) -> None:
    with pytest.raises(Refusal) as caught:
        parse_json(content)
    assert caught.value.status == 400


def test_an_integer_may_be_written_with_a_point() -> None:
    assert (
        parse_order(parse_json(b'{"model": "m", "prompt": [1.0], "max_tokens": 16.0, "seed": 1e3}')).seed
        == 1000
    )
    with pytest.raises(Refusal):
        parse_order(parse_json(b'{"model": "m", "prompt": "x", "max_tokens": 1.5}'))


def test_an_infinite_number_in_disguise_is_refused() -> None:
    assert refuse(**json.loads('{"temperature": 1e999}')).param == "temperature"


def test_nothing_to_generate_is_accepted_with_echo_only() -> None:
    order = parse_order({"model": "m", "prompt": "x", "echo": True, "max_tokens": 0})
    assert (order.echo, order.max_tokens) == (True, 0)
    assert refuse(max_tokens=0, echo=False).param == "max_tokens"
    assert refuse(max_tokens=False, echo=True).param == "max_tokens"
    assert refuse(max_tokens=-1, echo=True).param == "max_tokens"
    assert refuse(echo=1).param == "echo"
