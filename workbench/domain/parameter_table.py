"""The table of request fields, used by the panel, command line, TOML, request body and local server.

Names, types, ranges and help follow the contract of `POST /v1/completions` (the JieKou AI completion
reference); where the contract contradicts itself, the range is this project's decision.
"""

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


_INT64 = Range(-(2**63), 2**63 - 1)

MODEL = Field(
    "model",
    Kind.TEXT,
    "The model's name, as the endpoint lists it (provider/model-name).",
    "the endpoint's only or default model",
)
PROMPT = Field(
    "prompt",
    Kind.PROMPT,
    "A string, a list of strings, a list of token ids, or a list of such lists.",
    "an empty text",
)

PARAMETERS: tuple[Field, ...] = (
    Field(
        "temperature",
        Kind.NUMBER,
        "0 always takes the likeliest token; 0.2 is focused, 0.8 random. Change this or top_p, not both.",
        "1",
        Range(0, 2),
        0.1,
        1.0,
    ),
    Field(
        "top_p",
        Kind.NUMBER,
        "Keeps the likeliest tokens that reach this probability. Change this or temperature, not both.",
        "1 (off)",
        Range(0, 1, low_open=True),
        0.05,
        1.0,
    ),
    Field("top_k", Kind.INTEGER, "Keeps the k likeliest tokens.", "all tokens", Range(1, 128), 1, 40),
    Field(
        "min_p",
        Kind.NUMBER,
        "Drops tokens below this fraction of the top token's probability.",
        "0 (off)",
        Range(0, 1),
        0.01,
        0.05,
    ),
    Field(
        "max_tokens",
        Kind.INTEGER,
        "The most tokens to generate; prompt and answer together must fit the context.",
        "16",
        Range(1, 2**31 - 1),
        16,
        16,
        always=16,
    ),
    Field(
        "seed",
        Kind.INTEGER,
        "The same request with the same seed repeats its answer, as far as the endpoint can.",
        "a random seed",
        _INT64,
        1,
        1,
    ),
    Field(
        "stop",
        Kind.TEXTS,
        "Up to 4 texts that end the answer; some endpoints include the stop text, others cut it.",
        "no stop text",
        most=4,
    ),
    Field(
        "logprobs",
        Kind.INTEGER,
        "How many alternatives to report per token; 0 reports the chosen token only.",
        "no logprobs: tokens stay uncoloured",
        Range(0, 5),
        1,
        5,
    ),
    Field(
        "n",
        Kind.INTEGER,
        "How many choices to generate for each prompt; multiplies the tokens generated.",
        "1",
        Range(1, 128),
        1,
        1,
    ),
    Field(
        "best_of",
        Kind.INTEGER,
        "Candidates generated per prompt, of which the n likeliest per token are returned; "
        "multiplies the tokens generated and cannot be streamed.",
        "the value of n",
        Range(1, 128),
        1,
        1,
    ),
    Field(
        "frequency_penalty",
        Kind.NUMBER,
        "0.1 to 1 reduces repetition, 2 suppresses it strongly at a cost in quality; negative encourages it.",
        "0 (off)",
        Range(-2, 2),
        0.1,
        0.0,
    ),
    Field(
        "presence_penalty",
        Kind.NUMBER,
        "0.1 to 1 favours new tokens, 2 strongly at a cost in quality; negative encourages repetition.",
        "0 (off)",
        Range(-2, 2),
        0.1,
        0.0,
    ),
    Field(
        "repetition_penalty",
        Kind.NUMBER,
        "1 is none, 1.2 a good balance; counts the prompt's tokens too.",
        "1 (off)",
        Range(0, 2, low_open=True),
        0.05,
        1.0,
    ),
    Field(
        "logit_bias",
        Kind.BIASES,
        "Token ids made likelier or unlikelier: -100 forbids a token, 100 forces it.",
        "no bias",
        Range(-100, 100),
    ),
    Field("stream", Kind.SWITCH, "Sends each token as it is generated.", "on", start=True, always=True),
    Field(
        "include_usage",
        Kind.SWITCH,
        "Asks for the token counts at the end of a stream (stream_options.include_usage).",
        "on",
        start=True,
        always=True,
    ),
)
"""All parameter fields, in display order."""

FIELDS: Mapping[str, Field] = MappingProxyType({field.name: field for field in (MODEL, PROMPT, *PARAMETERS)})
"""All request fields by name."""


def _short(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:g}"
