"""Parse and check requests; anything that the API contract does not allow is refused."""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NoReturn, TypeVar

from workbench.domain.errors import BadValueError
from workbench.domain.json_values import JsonObject, JsonValue
from workbench.domain.parameter_table import FIELDS, PARAMETERS, Field, Kind, ParameterValue, Range
from workbench.domain.parameter_values import check_value, value_from_json
from workbench.domain.prompt import Prompt, TextPrompt, count_prompts, prompt_from_json, single_prompts
from workbench.local.http_server import MOST_BODY
from workbench.local.refusal import Refusal, bad_request
from workbench.local.sampler_options import SamplerOptions, read_sampling

MOST_CHOICES = 1024
"""Maximum choices per request: prompts × max(n, best_of)."""
MOST_IDS = 2**20
"""Maximum token ids per request."""
_LEAST = 2.0**-126
"""The smallest positive normal number in single precision."""
_LEAST_TEMPERATURE = 1e-6
"""A lower temperature is treated as 0 (greedy)."""
_LEAST_PENALTY = 1e-22
"""Dividing the engine's logits by a smaller penalty would overflow."""
_EXACT = 2**53
"""Up to this value, floats represent all integers exactly."""
_MOST_GRAMMAR = 65_536
_MOST_ID_DIGITS = 10


def _engine_field(name: str, kind: Kind, unset: str, allowed: Range | None = None) -> Field:
    return Field(name, kind, "Passed through to the engine.", unset, allowed)


ENGINE_FIELDS = (
    _engine_field("grammar", Kind.TEXT, "no grammar"),
    _engine_field("dry_multiplier", Kind.NUMBER, "0 (off)", Range(0, 100)),
    _engine_field("dry_base", Kind.NUMBER, "1.75", Range(1, 100)),
    _engine_field("dry_allowed_length", Kind.INTEGER, "2", Range(0, 2**15)),
    _engine_field("dry_penalty_last_n", Kind.INTEGER, "32768", Range(0, 2**15)),
    _engine_field("xtc_probability", Kind.NUMBER, "0 (off)", Range(0, 1)),
    _engine_field("xtc_threshold", Kind.NUMBER, "0.1", Range(0, 1)),
    _engine_field("typical_p", Kind.NUMBER, "1 (off)", Range(0, 1)),
    _engine_field("top_n_sigma", Kind.NUMBER, "-1 (off)", Range(-1, 100)),
    _engine_field("dynatemp_range", Kind.NUMBER, "0 (off)", Range(0, 2)),
    _engine_field("dynatemp_exponent", Kind.NUMBER, "1", Range(0, 10)),
    _engine_field("mirostat", Kind.INTEGER, "0 (off)", Range(0, 2)),
    _engine_field("mirostat_tau", Kind.NUMBER, "5", Range(0, 100)),
    _engine_field("mirostat_eta", Kind.NUMBER, "0.1", Range(0, 1)),
    _engine_field("repeat_last_n", Kind.INTEGER, "32768", Range(0, 2**15)),
    _engine_field("ignore_eos", Kind.SWITCH, "false"),
    _engine_field("cache_prompt", Kind.SWITCH, "false"),
)
"""Additional fields that are passed to the engine."""

BODY_FIELDS = (*(field for field in PARAMETERS if field.name != "include_usage"), *ENGINE_FIELDS)
"""The fields of a request's body that hold parameters."""

UNSUPPORTED: Mapping[str, JsonValue] = MappingProxyType({"suffix": ""})
"""Unsupported fields of the OpenAI API, with their allowed neutral values."""

_FIELDS = {field.name: field for field in BODY_FIELDS}
_FIELDS_WITH_ECHO = {**_FIELDS, "max_tokens": FIELDS["max_tokens"]._replace(range=Range(0, 2**31 - 1))}
"""With echo, max_tokens may be 0, to return only the prompt."""
_OTHER_FIELDS = frozenset(
    {"model", "prompt", "echo", "stream_options", "include_stop_str_in_output", "user", *UNSUPPORTED}
)
_STREAM_OPTIONS = ("include_usage", "include_obfuscation")


@dataclass(frozen=True, slots=True)
class Order:
    """A checked completion request."""

    model: str
    prompt: Prompt
    n: int
    """Number of choices returned per prompt."""
    candidates: int
    """Number of choices generated per prompt."""
    max_tokens: int
    """Maximum tokens per choice; 0 only with echo."""
    logprobs: int | None
    """Number of alternatives per token; None for no logprobs."""
    seed: int | None
    stops: Sequence[str]
    """The stop sequences."""
    sampling: SamplerOptions
    stream: bool
    include_usage: bool
    includes_stop: bool
    """Whether texts include the stop sequence."""
    echo: bool
    """Whether texts begin with the prompt."""


def parse_json(content: bytes) -> JsonObject:
    """Parse a body's JSON object. Raises Refusal for anything else, including NaN and Infinity."""
    try:
        body = json.loads(content.decode(), parse_constant=_refuse_constant, parse_float=_read_float)
    except UnicodeDecodeError:
        raise bad_request(None, "the body is not UTF-8") from None
    except RecursionError:
        raise bad_request(None, "the body is nested too deeply") from None
    except ValueError as error:
        raise bad_request(None, f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise bad_request(None, "the body must be a JSON object")
    return body


def unzip(content: bytes) -> bytes:
    """Decompress a body with `Content-Encoding: gzip`. Raises Refusal if it is not gzip or too long."""
    unzipped = bytearray()
    while content:
        member = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        try:
            unzipped += member.decompress(content, MOST_BODY + 1 - len(unzipped))
        except zlib.error as error:
            raise bad_request(None, f"the body is not gzip: {error}") from None
        if len(unzipped) > MOST_BODY:
            raise Refusal(413, f"the body is longer than {MOST_BODY} bytes")
        if not member.eof:
            raise bad_request(None, "the body is not gzip: it is truncated")
        content = member.unused_data
    return bytes(unzipped)


def parse_order(body: JsonObject) -> Order:
    """Parse a body of `POST /v1/completions`; null means unset. Raises Refusal, which names the field."""
    given = {name: value for name, value in body.items() if value is not None}
    check_names(body, _FIELDS.keys() | _OTHER_FIELDS)
    model = given.get("model", "")
    if not isinstance(model, str) or not model:
        raise bad_request("model", "model is required: the name of the model, as GET /v1/models lists it")
    if "prompt" not in given:
        raise bad_request("prompt", "prompt is required")
    for name, neutral in UNSUPPORTED.items():
        value = given.get(name, neutral)
        if type(value) is not type(neutral) or value != neutral:
            raise bad_request(name, f"{name} is not supported: leave it out")
    if not isinstance(given.get("user", ""), str):
        raise bad_request("user", "user must be a string")
    echo = read_switch(given, "echo", default=False)
    fields = _FIELDS_WITH_ECHO if echo else _FIELDS
    values = {name: _value(fields[name], given[name]) for name in given if name in fields}
    stream = values.get("stream") is True
    include_usage = _include_usage(given.get("stream_options"), stream)
    prompt = _prompt(given["prompt"])
    n = _integer(values, "n", 1)
    candidates = _integer(values, "best_of", n)
    if candidates < n:
        raise bad_request("best_of", f"best_of must be at least n, {n} (got {candidates})")
    if count_prompts(prompt) * candidates > MOST_CHOICES:
        name = "n" if n == candidates else "best_of"
        raise bad_request(name, f"prompt and {name} ask for more than {MOST_CHOICES} choices")
    if stream and "best_of" in values and candidates > 1:
        raise bad_request("best_of", "best_of above 1 cannot be streamed; leave stream out")
    stops = values.get("stop")
    return Order(
        model,
        prompt,
        n,
        candidates,
        _integer(values, "max_tokens", 16),
        _integer(values, "logprobs", None),
        _integer(values, "seed", None),
        stops if isinstance(stops, tuple) else (),
        read_sampling(values),
        stream,
        include_usage,
        read_switch(given, "include_stop_str_in_output", default=True),
        echo,
    )


_Unset = TypeVar("_Unset", int, None)


def _integer(values: Mapping[str, ParameterValue], name: str, unset: _Unset) -> int | _Unset:
    value = values.get(name)
    return value if isinstance(value, int) else unset


def _value(field: Field, value: JsonValue) -> ParameterValue:
    name = field.name
    try:
        taken = value_from_json(field, value)
        wrong = check_value(field, taken)
    except BadValueError as error:
        raise bad_request(name, error.title) from None
    except OverflowError:
        raise bad_request(name, f"{name}: a number is out of range") from None
    if wrong is not None:
        raise bad_request(name, wrong)
    match taken:
        case float():
            return _nearest(name, taken)
        case str():
            check_text(name, taken)
            if len(taken) > _MOST_GRAMMAR:
                raise bad_request(name, f"{name} must have at most {_MOST_GRAMMAR} characters")
        case tuple():
            for text in taken:
                check_text(name, text)
        case Mapping():
            for key, bias in taken.items():
                if len(key) > _MOST_ID_DIGITS:
                    raise bad_request(name, f"{name}: {key[:20]} is not a token id")
                if isinstance(bias, float):
                    raise bad_request(name, f"{name}: each bias must be a whole number")
    return taken


def _nearest(name: str, number: float) -> float:
    """Return the nearest number that the engine can use in single precision."""
    if name == "temperature" and number < _LEAST_TEMPERATURE:
        return 0
    if name == "repetition_penalty":
        return max(number, _LEAST_PENALTY)
    return math.copysign(max(abs(number), _LEAST), number) if number else number


def _prompt(value: JsonValue) -> Prompt:
    # Counted first, because a body has room for millions.
    if isinstance(value, list) and value:
        are_many = isinstance(value[0], (str, list))
        if are_many and len(value) > MOST_CHOICES:
            raise bad_request("prompt", f"prompt holds {len(value)} prompts, more than {MOST_CHOICES}")
        if sum(len(part) for part in (value if are_many else [value]) if isinstance(part, list)) > MOST_IDS:
            raise bad_request("prompt", f"prompt holds more than {MOST_IDS} token ids")
    try:
        prompt = prompt_from_json(value)
    except BadValueError as error:
        raise bad_request("prompt", error.title) from None
    for single in single_prompts(prompt):
        if isinstance(single, TextPrompt):
            check_text("prompt", single.text)
    return prompt


def _include_usage(options: JsonValue, stream: bool) -> bool:
    if options is None:
        return False
    if not isinstance(options, Mapping):
        raise bad_request("stream_options", "stream_options must be an object")
    if not stream:
        raise bad_request("stream_options", "stream_options needs stream to be true")
    for name, value in options.items():
        if name not in _STREAM_OPTIONS:
            raise bad_request("stream_options", f"stream_options.{name}: unknown field")
        if value is not None and not isinstance(value, bool):
            raise bad_request("stream_options", f"stream_options.{name} must be true or false")
    return options.get("include_usage") is True


def read_switch(body: JsonObject, name: str, default: bool) -> bool:
    """Return a boolean field; null means unset. Raises Refusal, which names the field."""
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise bad_request(name, f"{name} must be true or false")
    return value


def check_names(body: JsonObject, known: Collection[str]) -> None:
    """Raise Refusal, which names the field, for an unknown field."""
    for name in body:
        if name not in known:
            raise bad_request(name, f"{name}: unknown field")


def check_text(name: str, text: str) -> None:
    """Raise Refusal, which names the field, if a text contains lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise bad_request(name, f"{name} contains a lone surrogate, which is not valid Unicode") from None


def _read_float(text: str) -> int | float:
    """Parse a number with a point or exponent: `16.0` is the integer 16, as in JSON Schema."""
    value = float(text)
    if not value and re.match(r"-?[0.]*[1-9]", text):
        return math.copysign(_LEAST, value)
    return int(value) if value.is_integer() and abs(value) <= _EXACT else value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def check_fits(prompt_tokens: int, max_tokens: int, context: int) -> None:
    """Raise Refusal, which names both numbers, if prompt and answer exceed the context."""
    if prompt_tokens + max_tokens > context:
        raise Refusal(
            400,
            f"max_tokens {max_tokens} and {prompt_tokens} tokens of prompt exceed the context of {context}",
            "max_tokens",
        )
