"""One request as several: for endpoints that answer one prompt or one choice at a time."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from workbench.domain.json_values import JsonObject
from workbench.domain.parameters import FIELDS
from workbench.domain.prompt import count_prompts, join_prompts, single_prompts
from workbench.domain.request import Parameters, Request

if TYPE_CHECKING:
    from workbench.domain.run import Run


class Split(NamedTuple):
    """What gets a request of its own."""

    prompts: bool = False
    """Whether each prompt does."""
    choices: bool = False
    """Whether each choice does."""

    def __bool__(self) -> bool:
        return self.prompts or self.choices


NOT_SPLIT = Split()
"""One plain request."""


class Part(NamedTuple):
    """One of the requests that stand for a whole one."""

    request: Request
    indexes: tuple[int, ...]
    """Where its choices stand in the whole, in the order of its own."""


class SentPart(NamedTuple):
    """A part as it went out."""

    choices: tuple[int, ...]
    """Indexes in the whole of the choices that it asked for."""
    changes: JsonObject
    """The fields in which its body differs from the first part's."""
    response_id: str = ""


def parts_of(request: Request, split: Split) -> tuple[Part, ...]:
    """The requests that a request is split into; prompt by prompt, and choice by choice within each.

    A seed is counted up from choice to choice, as equal ones would give equal answers; a part that asks for
    one choice leaves `n` out. Choices count as in the whole: prompt_number * n + choice_number.
    """
    n = max(int(request.parameters.number("n", 1)), 1)
    single = request.parameters.set("n", None)
    prompts = list(enumerate(single_prompts(request.prompt)))
    parts: list[Part] = []
    for group in [[numbered] for numbered in prompts] if split.prompts else [prompts]:
        whole = replace(request, prompt=join_prompts(tuple(prompt for _, prompt in group)))
        choices = [[number * n + choice for number, _ in group] for choice in range(n)]
        if split.choices:
            for choice, indexes in enumerate(choices):
                parts.append(Part(replace(whole, parameters=reseeded(single, choice)), tuple(indexes)))
        else:
            parts.append(Part(whole, tuple(sorted(chain.from_iterable(choices)))))
    return tuple(parts)


def reseeded(parameters: Parameters, by: int) -> Parameters:
    """Parameters with a pinned seed moved on; beyond the greatest it begins again at the least."""
    seed, allowed = parameters.get("seed"), FIELDS["seed"].range
    if not isinstance(seed, int) or allowed is None or not by:
        return parameters
    low, high = int(allowed.low), int(allowed.high)
    return parameters.set("seed", (seed - low + by) % (high - low + 1) + low)


def seeds_of(parts: tuple[Part, ...]) -> tuple[int, ...]:
    """The different seeds of parts, in order; none where they have none."""
    seeds = (part.request.parameters.get("seed") for part in parts)
    return tuple(dict.fromkeys(seed for seed in seeds if isinstance(seed, int)))


def left_out(run: Run) -> Split:
    """What the answer to one plain request lacks, as far as that is known."""
    if not run.is_answered or run.split is not None or len(run.choices) >= run.request.choices:
        return NOT_SPLIT
    several = count_prompts(run.request.prompt) > 1
    return Split(several, run.request.parameters.number("n", 1) > 1)
