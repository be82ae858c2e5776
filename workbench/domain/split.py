"""Split a request for endpoints that answer one prompt or one choice at a time."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from workbench.domain.json_values import JsonObject
from workbench.domain.parameter_table import FIELDS
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import count_prompts, join_prompts, single_prompts
from workbench.domain.request import Request

if TYPE_CHECKING:
    from workbench.domain.run import Run


class Split(NamedTuple):
    """How to split a request."""

    prompts: bool = False
    """Whether each prompt gets its own request."""
    choices: bool = False
    """Whether each choice gets its own request."""

    def __bool__(self) -> bool:
        return self.prompts or self.choices


NOT_SPLIT = Split()
"""A single request."""


class Part(NamedTuple):
    """One of the requests that a request is split into."""

    request: Request
    indexes: tuple[int, ...]
    """Indexes of its choices in the whole request."""


class SentPart(NamedTuple):
    """A part as sent."""

    choices: tuple[int, ...]
    """Indexes of its choices in the whole request."""
    changes: JsonObject
    """The body fields that differ from the first part's body."""
    response_id: str = ""


def parts_of(request: Request, split: Split) -> tuple[Part, ...]:
    """Split a request by prompt, and by choice within each prompt.

    The seed increases by 1 per choice, because equal seeds would give equal answers; a part for one choice
    omits `n`. Choice indexes are those of the whole request: prompt_number * n + choice_number.
    """
    n = max(int(request.parameters.number("n", 1)), 1)
    single = request.parameters.set("n", None)
    prompts = list(enumerate(single_prompts(request.prompt)))
    parts: list[Part] = []
    for group in [[numbered] for numbered in prompts] if split.prompts else [prompts]:
        whole = request._replace(prompt=join_prompts(tuple(prompt for _, prompt in group)))
        choices = [[number * n + choice for number, _ in group] for choice in range(n)]
        if split.choices:
            for choice, indexes in enumerate(choices):
                parts.append(Part(whole._replace(parameters=reseeded(single, choice)), tuple(indexes)))
        else:
            parts.append(Part(whole, tuple(sorted(chain.from_iterable(choices)))))
    return tuple(parts)


def reseeded(parameters: Parameters, by: int) -> Parameters:
    """Add `by` to a set seed, wrapping around at the maximum."""
    seed, allowed = parameters.get("seed"), FIELDS["seed"].range
    if not isinstance(seed, int) or allowed is None or not by:
        return parameters
    low, high = int(allowed.low), int(allowed.high)
    return parameters.set("seed", (seed - low + by) % (high - low + 1) + low)


def seeds_of(parts: tuple[Part, ...]) -> tuple[int, ...]:
    """Return the distinct seeds of the parts, in order."""
    seeds = (part.request.parameters.get("seed") for part in parts)
    return tuple(dict.fromkeys(seed for seed in seeds if isinstance(seed, int)))


def left_out(run: Run) -> Split:
    """Return the split that would get choices missing from the answer to a single request."""
    if not run.is_answered or run.split is not None or len(run.choices) >= run.request.choices:
        return NOT_SPLIT
    several = count_prompts(run.request.prompt) > 1
    return Split(several, run.request.parameters.number("n", 1) > 1)
