"""The choices of one run side by side: which are equal, which is likeliest, and where they part."""

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
    """A place at which an answer diverges from others."""

    token: int
    """The first token that is not shared; the number of tokens where the answer has ended there."""
    others: tuple[int, ...]
    """Indices of the choices that stand for the answers it diverges from."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One text that a run gave, once or several times."""

    choices: tuple[Choice, ...]
    """The choices that have this text, the first of which stands for all."""
    forks: tuple[Fork, ...]
    """Where it diverges from every other answer, in order."""
    is_best: bool
    """Whether it has the highest mean logprob of all answers."""

    @property
    def choice(self) -> Choice:
        """The choice that stands for all."""
        return self.choices[0]

    @property
    def shared(self) -> int:
        """Leading tokens, after an echoed prompt's, that it shares with every other answer."""
        return self.forks[0].token if self.forks else self.choice.echoed


def best_choice(choices: Sequence[Choice]) -> Choice | None:
    """The choice with the highest mean logprob, the first of equals; None where none has logprobs."""
    means = [(mean_logprob(completion_logprobs(choice)), choice) for choice in choices]
    known = [(mean, choice) for mean, choice in means if mean is not None]
    return max(known, key=lambda ranked: ranked[0])[1] if known else None


def shown_choice(choices: Sequence[Choice]) -> Choice | None:
    """The choice that stands for a run's: the likeliest, else the first; None where there is none."""
    return best_choice(choices) or next(iter(choices), None)


def answers_of(choices: Sequence[Choice]) -> list[Answer]:
    """The different answers in order of first appearance, with the places at which they part."""
    groups = equal_groups(choices)
    best = best_choice(choices)
    forks = _forks([choice for choice, *_ in groups])
    return [
        Answer(tuple(group), parts, len(groups) > 1 and best is not None and best in group)
        for group, parts in zip(groups, forks, strict=True)
    ]


def _forks(choices: Sequence[Choice]) -> list[tuple[Fork, ...]]:
    """For each choice the places at which it diverges from the others.

    Sorted, two of them share what the least of the neighbours between them share, so only neighbours are
    compared.
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
