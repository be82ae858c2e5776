"""How likely a text is to a model, token by token, and to two models whose tokens differ.

Surprisals are in nats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum, isnan
from typing import NamedTuple

from workbench.domain.choice import Choice


@dataclass(frozen=True, slots=True)
class Passage:
    """Consecutive tokens of a choice whose text is compared or scored."""

    choice: Choice
    tokens: range
    """Indexes into the choice."""
    origin: int
    """The character of the choice's text from which places in the passage count."""

    @staticmethod
    def prompt_of(choice: Choice, origin: int = 0) -> Passage:
        """The tokens that repeat the prompt; places count from its character `origin`."""
        return Passage(choice, range(choice.echoed), origin)

    @staticmethod
    def answer_of(choice: Choice) -> Passage:
        """The tokens that the model generated."""
        tokens = range(choice.echoed, len(choice))
        return Passage(choice, tokens, choice.start_of(choice.echoed) if tokens else choice.length)

    @property
    def end(self) -> int:
        """Where its text ends, in characters from the origin."""
        stop = self.tokens.stop
        end = self.choice.start_of(stop) if stop < len(self.choice) else self.choice.length
        return end - self.origin

    @property
    def text(self) -> str:
        """The text from the origin to the end of its tokens."""
        return self.choice.text[self.origin :][: max(self.end, 0)]

    def surprisal(self, tokens: range) -> float | None:
        """The surprisal of some of its tokens together; None where one of them has no logprob."""
        total = -fsum(self.choice.logprobs[tokens.start : tokens.stop])
        return None if isnan(total) else total

    def boundaries(self) -> dict[int, int]:
        """Where its tokens begin, in characters from the origin, with their indexes, in order.

        Only places where no character has begun: a token that begins within one has no place in the text.
        The last one is the end.
        """
        found: dict[int, int] = {}
        begun = b""
        for index in self.tokens:
            if not begun:
                found.setdefault(self.choice.start_of(index) - self.origin, index)
            raw = self.choice.raw_of(index)
            text = self.choice.text_of(index).encode("utf-8", "surrogatepass")
            begun = b"" if raw is None else (begun + raw).removeprefix(text)
        found.setdefault(self.end, self.tokens.stop)
        return found


class Span(NamedTuple):
    """A part of a text between two places where tokens of both scorings begin."""

    start: int
    """In characters of the text."""
    end: int
    first: range
    """The tokens of the first scoring."""
    second: range
    surprisals: tuple[float | None, float | None]

    @property
    def difference(self) -> float | None:
        """How much more it surprises the second model; None where a surprisal is unknown."""
        first, second = self.surprisals
        return None if first is None or second is None else second - first


def align_scorings(first: Passage, second: Passage) -> Iterator[Span]:
    """Align two scorings of one text, whatever tokens each one has.

    The spans join to the text from its first place where tokens of both begin, and are the shortest whose
    ends are token boundaries of both.
    """
    ours, theirs = first.boundaries(), second.boundaries()
    for start, end in pairwise(place for place in ours if place in theirs):
        mine, other = range(ours[start], ours[end]), range(theirs[start], theirs[end])
        yield Span(start, end, mine, other, (first.surprisal(mine), second.surprisal(other)))


def common_positions(first: Passage, second: Passage) -> Iterator[tuple[int, int]]:
    """The tokens of two passages that begin at one place after an identical text, as pairs of indexes.

    The last pair is where the passages diverge: both distributions still follow the same text. An index
    behind a passage's tokens is its end.
    """
    shared = common_length(first.text, second.text)
    theirs = second.boundaries()
    for place, index in first.boundaries().items():
        if place > shared:
            return
        if (other := theirs.get(place)) is not None:
            yield index, other


def common_length(first: Sequence[str], second: Sequence[str]) -> int:
    """How many leading characters two texts share, or leading tokens two lists of them."""
    return next(
        (place for place, (one, other) in enumerate(zip(first, second, strict=False)) if one != other),
        min(len(first), len(second)),
    )
