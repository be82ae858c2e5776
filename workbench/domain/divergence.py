"""Compare completions: common prefix, divergence and differing parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.domain.choice import Choice, Token
from workbench.domain.figures import probability
from workbench.domain.parameter_table import PARAMETERS
from workbench.domain.parameter_values import value_or_unset
from workbench.domain.parameters import Parameters


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first position at which choices differ."""

    position: int
    """Index of the first token that differs."""
    tokens: tuple[Token | None, ...]
    """Each choice's token at the position; None if the choice has ended."""


def common_prefix(choices: Sequence[Choice], start: int = 0) -> int:
    """Count the leading tokens that all choices share, by text; the first `start` are known to be equal."""
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
    """Return the first divergence; None while all choices agree up to the end of the shortest running one.

    A choice that has ended differs from one that continues. The first `start` tokens are known to be equal.
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
    """Return the top alternative's probability minus the second's; None with fewer than two."""
    masses = (probability(alternative.logprob) for alternative in token.alternatives)
    known = sorted((mass for mass in masses if mass is not None), reverse=True)
    return known[0] - known[1] if len(known) > 1 else None


def equal_groups(choices: Sequence[Choice]) -> list[list[Choice]]:
    """Group choices by text, in order of first appearance."""
    groups: dict[str, list[Choice]] = {}
    for choice in choices:
        groups.setdefault(choice.text, []).append(choice)
    return list(groups.values())


def distinguishing(parameters: Sequence[Parameters]) -> tuple[tuple[str, ...], ...]:
    """Return, for each set of parameters, the differing fields as `temperature 0.2`."""
    changed = differing(parameters)
    return tuple(
        tuple(f"{name} {value_or_unset(values.get(name))}" for name in changed) for values in parameters
    )


def differing(parameters: Sequence[Parameters]) -> list[str]:
    """Return the names of the fields that differ, in the order of `PARAMETERS`."""
    changed = {change.name for other in parameters[1:] for change in parameters[0].changes_to(other)}
    return [field.name for field in PARAMETERS if field.name in changed]
