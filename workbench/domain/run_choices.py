"""A run's choices: which are equal, which is the most likely, and where they diverge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

from workbench.domain.choice import Choice
from workbench.domain.divergence import equal_groups
from workbench.domain.figures import completion_logprobs, mean_logprob
from workbench.domain.scoring import common_length


class Fork(NamedTuple):
    """A position at which an answer diverges from others."""

    token: int
    """Index of the first differing token; the number of tokens if the answer ends there."""
    others: tuple[int, ...]
    """Indices of the choices that represent the other answers."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One distinct text among a run's choices."""

    choices: tuple[Choice, ...]
    """The choices with this text; the first represents the answer."""
    forks: tuple[Fork, ...]
    """Its divergences from the other answers, in order of position."""
    is_best: bool
    """Whether it has the highest mean logprob of all answers."""

    @property
    def choice(self) -> Choice:
        """The choice that represents the answer."""
        return self.choices[0]

    @property
    def shared(self) -> int:
        """Index of the first token that not every other answer shares."""
        return self.forks[0].token if self.forks else self.choice.echoed


def best_choice(choices: Sequence[Choice]) -> Choice | None:
    """Return the choice with the highest mean logprob, the first of equals; None if none has logprobs."""
    means = [(mean_logprob(completion_logprobs(choice)), choice) for choice in choices]
    known = [(mean, choice) for mean, choice in means if mean is not None]
    return max(known, key=lambda ranked: ranked[0])[1] if known else None


def shown_choice(choices: Sequence[Choice]) -> Choice | None:
    """Return the choice to show for a run: the most likely, else the first; None if there are no choices."""
    return best_choice(choices) or next(iter(choices), None)


def answers_of(choices: Sequence[Choice]) -> list[Answer]:
    """Return the distinct answers in order of first appearance, with their divergences."""
    groups = equal_groups(choices)
    best = best_choice(choices)
    forks = _forks([choice for choice, *_ in groups])
    return [
        Answer(tuple(group), parts, len(groups) > 1 and best is not None and best in group)
        for group, parts in zip(groups, forks, strict=True)
    ]


def _forks(choices: Sequence[Choice]) -> list[tuple[Fork, ...]]:
    """Return each choice's divergences from the others.

    Of sorted token lists, two have in common the minimum that neighbours between them have in common, so
    only neighbours are compared.
    """
    texts = [choice.texts(choice.echoed) for choice in choices]
    order = sorted(range(len(texts)), key=lambda number: texts[number])
    shared = [common_length(texts[first], texts[other]) for first, other in pairwise(order)]
    found: list[tuple[Fork, ...]] = [()] * len(choices)
    for rank, number in enumerate(order):
        parts: dict[int, list[int]] = {}
        ahead = zip(accumulate(shared[rank:], min), order[rank + 1 :], strict=True)
        behind = zip(accumulate(reversed(shared[:rank]), min), reversed(order[:rank]), strict=True)
        for length, other in chain(ahead, behind):
            parts.setdefault(choices[number].echoed + length, []).append(choices[other].index)
        found[number] = tuple(Fork(token, tuple(sorted(others))) for token, others in sorted(parts.items()))
    return found
