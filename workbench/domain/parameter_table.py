"""The table of request fields, used by the panel, command line, TOML, request body and local server.

Names, types, ranges and help follow the contract of `POST /v1/completions` (the JieKou AI completion
reference); where the contract contradicts itself, the range is this project's decision.
"""

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

ParameterValue: TypeAlias = bool | int | float | str | tuple[str, ...] | Mapping[str, float]
"""A parameter's value: `stop` is a tuple of texts, `logit_bias` maps token ids (as strings) to biases."""


class Kind(StrEnum):
    """The type of a field's value."""

    TEXT = "text"
    PROMPT = "prompt"
    INTEGER = "integer"
    NUMBER = "number"
    SWITCH = "switch"
    TEXTS = "texts"
    BIASES = "biases"


class Range(NamedTuple):
    """The values a number may take."""

    low: float
    high: float
    low_open: bool = False
    """Whether `low` itself is excluded."""

    def __contains__(self, value: float) -> bool:  # type: ignore[override]
        return (self.low < value if self.low_open else self.low <= value) and value <= self.high

    def __str__(self) -> str:
        low, high = _short(self.low), _short(self.high)
        return f"above {low} and at most {high}" if self.low_open else f"between {low} and {high}"


class Field(NamedTuple):
    """One field of the request."""

    name: str
    """The API name, also used in TOML keys, options and screens."""
    kind: Kind
    help: str
    """One line of advice for the user."""
    unset: str
    """The endpoint's default, for display."""
    range: Range | None = None
    """Allowed values of the number, or of each bias."""
    step: float = 1
    """The change of a number per key press."""
    start: ParameterValue | None = None
    """The value of an unset field after the first key press."""
    always: ParameterValue | None = None
    """The value to send if the user set none; None omits the field from the body."""
    most: int | None = None
    """The maximum length of a list."""

    @property
    def is_number(self) -> bool:
        """Whether the value is a number."""
        return self.kind in (Kind.INTEGER, Kind.NUMBER)


_TABLE = """
model | text | the endpoint's only or default model |
    The model's name, as the endpoint lists it (provider/model-name).
prompt | prompt | an empty text |
    A string, a list of strings, a list of token ids, or a list of such lists.
temperature | number | 1 | 0 to 2 | 0.1 | 1.0
    0 always takes the likeliest token; 0.2 is focused, 0.8 random. Change this or top_p, not both.
top_p | number | 1 (off) | >0 to 1 | 0.05 | 1.0
    Keeps the likeliest tokens that reach this probability. Change this or temperature, not both.
top_k | integer | all tokens | 1 to 128 | 1 | 40
    Keeps the k likeliest tokens.
min_p | number | 0 (off) | 0 to 1 | 0.01 | 0.05
    Drops tokens below this fraction of the top token's probability.
max_tokens | integer | 16 | 1 to 2147483647 | 16 | 16 | always
    The most tokens to generate; prompt and answer together must fit the context.
seed | integer | a random seed | -9223372036854775808 to 9223372036854775807 | 1 | 1
    The same request with the same seed repeats its answer, as far as the endpoint can.
stop | texts | no stop text | 0 to 4
    Up to 4 texts that end the answer; some endpoints include the stop text, others cut it.
logprobs | integer | no logprobs: tokens stay uncoloured | 0 to 5 | 1 | 5
    How many alternatives to report per token; 0 reports the chosen token only.
n | integer | 1 | 1 to 128 | 1 | 1
    How many choices to generate for each prompt; multiplies the tokens generated.
best_of | integer | the value of n | 1 to 128 | 1 | 1
    Candidates generated per prompt, of which the n likeliest per token are returned;
    multiplies the tokens generated and cannot be streamed.
frequency_penalty | number | 0 (off) | -2 to 2 | 0.1 | 0.0
    0.1 to 1 reduces repetition, 2 suppresses it strongly at a cost in quality; negative encourages it.
presence_penalty | number | 0 (off) | -2 to 2 | 0.1 | 0.0
    0.1 to 1 favours new tokens, 2 strongly at a cost in quality; negative encourages repetition.
repetition_penalty | number | 1 (off) | >0 to 2 | 0.05 | 1.0
    1 is none, 1.2 a good balance; counts the prompt's tokens too.
logit_bias | biases | no bias | -100 to 100
    Token ids made likelier or unlikelier: -100 forbids a token, 100 forces it.
stream | switch | on | | 1 | true | always
    Sends each token as it is generated.
include_usage | switch | on | | 1 | true | always
    Asks for the token counts at the end of a stream (stream_options.include_usage).
"""
"""name | kind | unset | range, for a list that of its length | step | start | `always` if sent when unset"""


def _field(row: str, *help: str) -> Field:
    name, kind, unset, limits, *others = map(str.strip, row.split("|"))
    step, start, *always = others or ("1", "null")
    low, _, high = limits.partition(" to ")
    allowed = Range(int(low.removeprefix(">")), int(high), low.startswith(">")) if high else None
    most = int(high) if kind == Kind.TEXTS else None
    first = json.loads(start)
    return Field(
        name,
        Kind(kind),
        " ".join(map(str.strip, help)),
        unset,
        None if most else allowed,
        json.loads(step),
        first,
        first if always else None,
        most,
    )


_ALL = tuple(_field(*row.split("\n")) for row in re.split(r"\n(?! )", _TABLE.strip()))

FIELDS: Mapping[str, Field] = MappingProxyType({field.name: field for field in _ALL})
"""All request fields by name."""

PARAMETERS = tuple(field for field in _ALL if field.name not in ("model", "prompt"))
"""All parameter fields, in display order."""


def _short(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:g}"
