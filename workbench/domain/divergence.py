"""Comparing completions: what they have in common, where they diverge, and which parameters differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.domain.choice import Choice, Token
from workbench.domain.figures import probability
from workbench.domain.parameters import PARAMETERS
from workbench.domain.request import Parameters
from workbench.domain.values import format_value


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first place at which choices part."""

    position: int
    """Index of the first token that differs."""
    tokens: tuple[Token | None, ...]
    """Each choice's token there; None where the choice has ended."""


def common_prefix(choices: Sequence[Choice], start: int = 0) -> int:
    """How many leading tokens all choices share, by text; so many as `start` are known to be shared."""
    if not choices:
        return 0
    first, others = choices[0], choices[1:]
    shared = min(map(len, choices))
    for position in range(start, shared):
        text = first.text_of(position)
        if any(other.text_of(position) != text for other in others):
            return position
    return shared


def first_divergence(choices: Sequence[Choice], start: int = 0) -> Divergence | None:
    """Where choices first part; None while all are equal as far as the shortest running one goes.

    A choice that has ended where another goes on differs there. So many tokens as `start` are known to be
    shared.
    """
    position = common_prefix(choices, start)
    if all(len(choice) == position for choice in choices):
        return None
    tokens = tuple(choice.token(position) if position < len(choice) else None for choice in choices)
    ended = [choice.finish_reason is not None for choice in choices]
    if any(token is None and not over for token, over in zip(tokens, ended, strict=True)):
        return None
    return Divergence(position, tokens)


def margin(token: Token) -> float | None:
    """How close the race was: the probability of the best listed token less that of the second one."""
    masses = (probability(alternative.logprob) for alternative in token.alternatives)
    known = sorted((mass for mass in masses if mass is not None), reverse=True)
    return known[0] - known[1] if len(known) > 1 else None


def equal_groups(choices: Sequence[Choice]) -> list[list[Choice]]:
    """Choices grouped by their text, in order of first appearance."""
    groups: dict[str, list[Choice]] = {}
    for choice in choices:
        groups.setdefault(choice.text, []).append(choice)
    return list(groups.values())


def distinguishing(parameters: Sequence[Parameters]) -> tuple[tuple[str, ...], ...]:
    """For each set of parameters, only the fields in which the sets differ, as `temperature 0.2`."""
    changed = differing(parameters)
    return tuple(
        tuple(
            f"{name} {'unset' if values.get(name) is None else format_value(values.get(name))}"
            for name in changed
        )
        for values in parameters
    )


def differing(parameters: Sequence[Parameters]) -> list[str]:
    """The fields in which sets of parameters differ, in the parameter table's order."""
    changed = {change.name for other in parameters[1:] for change in parameters[0].changes_to(other)}
    return [field.name for field in PARAMETERS if field.name in changed]
