"""Scores of a text by a model, per token, and their alignment between two models with different tokens.

Surprisals are in nats.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import isnan
from typing import NamedTuple

from workbench.domain.choice import Alternative, Choice, Token, top_choice
from workbench.domain.figures import total
from workbench.domain.run import Run


class Passage(NamedTuple):
    """Consecutive tokens of a choice, to compare or score."""

    choice: Choice
    tokens: range
    """Token indexes in the choice."""
    origin: int
    """Offset in the choice's text, in characters, to which the passage's offsets are relative."""

    @staticmethod
    def prompt_of(choice: Choice, origin: int = 0) -> Passage:
        """Return the echoed prompt; offsets are relative to its character `origin`."""
        return Passage(choice, range(choice.echoed), origin)

    @staticmethod
    def answer_of(choice: Choice) -> Passage:
        """Return the generated tokens."""
        tokens = range(choice.echoed, len(choice))
        return Passage(choice, tokens, choice.start_of(choice.echoed) if tokens else choice.length)

    @property
    def end(self) -> int:
        """Offset of the end, in characters from the origin."""
        stop = self.tokens.stop
        end = self.choice.start_of(stop) if stop < len(self.choice) else self.choice.length
        return end - self.origin

    @property
    def text(self) -> str:
        """The text from the origin to the end of the tokens."""
        return self.choice.text[self.origin :][: max(self.end, 0)]

    def surprisal(self, tokens: range) -> float | None:
        """Return the total surprisal of some tokens; None if one of them has no logprob."""
        nats = -total(self.choice.logprobs[tokens.start : tokens.stop])
        return None if isnan(nats) else nats

    def most_surprising(self, count: int) -> list[Token]:
        """Return the tokens with the lowest logprobs, lowest first; tokens without a logprob are omitted."""
        known = (token for token in map(self.choice.token, self.tokens) if token.logprob is not None)
        return sorted(known, key=lambda token: token.logprob or 0.0)[:count]

    def boundaries(self) -> dict[int, int]:
        """Return the token indexes by start offset, in characters from the origin, in order.

        Tokens that start within an incomplete UTF-8 sequence have no offset in the text and are omitted. The
        last entry is the end.
        """
        found: dict[int, int] = {}
        incomplete = b""
        for index in self.tokens:
            if not incomplete:
                found.setdefault(self.choice.start_of(index) - self.origin, index)
            raw = self.choice.raw_of(index)
            text = self.choice.text_of(index).encode("utf-8", "surrogatepass")
            incomplete = b"" if raw is None else (incomplete + raw).removeprefix(text)
        found.setdefault(self.end, self.tokens.stop)
        return found


class Span(NamedTuple):
    """A part of a text between two token boundaries that both scorings share."""

    start: int
    """Offset in characters."""
    end: int
    first: range
    """The tokens of the first scoring."""
    second: range
    surprisals: tuple[float | None, float | None]
    elsewhere: Alternative | None
    """The second model's top choice at the first of its tokens that was not its top choice.

    None if each token was the top choice or alternatives are missing.
    """

    @property
    def difference(self) -> float | None:
        """The second surprisal minus the first; None if one is unknown."""
        first, second = self.surprisals
        return None if first is None or second is None else second - first


def align_scorings(first: Passage, second: Passage) -> Iterator[Span]:
    """Align two scorings of the same text with different tokens.

    Yields the shortest spans between shared token boundaries; they cover the text from the first such
    boundary to the end.
    """
    ours, theirs = first.boundaries(), second.boundaries()
    for start, end in pairwise(boundary for boundary in ours if boundary in theirs):
        mine, other = range(ours[start], ours[end]), range(theirs[start], theirs[end])
        ranks = ((index, second.choice.rank_of(index)) for index in other)
        unexpected = (index for index, rank in ranks if rank is not None and rank.value > 1)
        expected = (top_choice(second.choice.alternatives_of(index)) for index in unexpected)
        surprisals = first.surprisal(mine), second.surprisal(other)
        yield Span(start, end, mine, other, surprisals, next(expected, None))


def largest_differences(spans: Iterable[Span], count: int) -> list[Span]:
    """Return the spans whose two surprisals differ most, the largest difference first."""
    known = (span for span in spans if span.difference is not None)
    return sorted(known, key=lambda span: -abs(span.difference or 0.0))[:count]


class SecondScoring(NamedTuple):
    """Another model's scoring of a choice's text, aligned with the choice's tokens."""

    choice: Choice
    """The choice that the `first` tokens of the spans belong to."""
    spans: tuple[Span, ...]
    scorer: str = ""
    """The other model's name."""

    @staticmethod
    def of(first: Passage, second: Passage, scorer: str = "") -> SecondScoring:
        """Align two scorings of the same text."""
        return SecondScoring(first.choice, tuple(align_scorings(first, second)), scorer)

    def of_spans(self, choice: Choice) -> SecondScoring:
        """Return the scoring for a choice that has one token per span."""
        spans = (span._replace(first=range(index, index + 1)) for index, span in enumerate(self.spans))
        return self._replace(choice=choice, spans=tuple(spans))

    def at(self, token: int) -> Span | None:
        """Return the span that contains a token; None if there is none."""
        index = bisect_right(self.spans, token, key=lambda span: span.first.start) - 1
        return self.spans[index] if index >= 0 and token in self.spans[index].first else None

    def difference(self, choice: Choice, token: int) -> float | None:
        """Return the other model's surprisal minus the first one's for the token's span.

        None if a surprisal is unknown, and for another choice.
        """
        found = self.at(token) if choice is self.choice else None
        return None if found is None else found.difference

    def next_elsewhere(self, choice: Choice, token: int, step: int = 1) -> int | None:
        """Return the first token of the next (step 1) or previous (-1) span that has an `elsewhere`.

        The span of `token` itself does not count. None if there is no such span, and for another choice.
        """
        if choice is not self.choice:
            return None
        begins = [span.first for span in self.spans if span.elsewhere is not None]
        if step > 0:
            return next((tokens.start for tokens in begins if tokens.start > token), None)
        return next((tokens.start for tokens in reversed(begins) if tokens.stop <= token), None)


def are_scorings(runs: Sequence[Run]) -> bool:
    """Whether all runs score the same text: an echoed prompt and at most one generated token."""
    choices = [choice for run in runs for choice in run.ordered]
    is_same_text = all(run.choices and run.request.prompt == runs[0].request.prompt for run in runs)
    # Many endpoints generate at least one token.
    return is_same_text and all(choice.echoed and len(choice) - choice.echoed <= 1 for choice in choices)


def common_positions(first: Passage, second: Passage) -> Iterator[tuple[int, int]]:
    """Yield the index pairs of tokens in two passages that follow an identical text.

    The passages diverge at the last pair, where both distributions still follow the same text. An index after
    a passage's tokens stands for its end.
    """
    shared = common_length(first.text, second.text)
    theirs = second.boundaries()
    for start, index in first.boundaries().items():
        if start > shared:
            return
        if (other := theirs.get(start)) is not None:
            yield index, other


def common_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Count the equal leading characters of two texts, or equal leading tokens of two lists."""
    return next(
        (index for index, (mine, other) in enumerate(zip(first, second, strict=False)) if mine != other),
        min(len(first), len(second)),
    )
