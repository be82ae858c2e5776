"""How likely a text is to a model, token by token, and to two models whose tokens differ.

Surprisals are in nats.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import isnan
from typing import NamedTuple

from workbench.domain.choice import Alternative, Choice, top_choice
from workbench.domain.figures import total
from workbench.domain.run import Run


class Passage(NamedTuple):
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
        nats = -total(self.choice.logprobs[tokens.start : tokens.stop])
        return None if isnan(nats) else nats

    def boundaries(self) -> dict[int, int]:
        """Where its tokens begin, in characters from the origin, with their indexes, in order.

        Only places where no character has begun: a token that begins within one has no place in the text.
        The last one is the end.
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
    for start, end in pairwise(boundary for boundary in ours if boundary in theirs):
        mine, other = range(ours[start], ours[end]), range(theirs[start], theirs[end])
        yield Span(start, end, mine, other, (first.surprisal(mine), second.surprisal(other)))


def top_choice_elsewhere(choice: Choice, tokens: range) -> Alternative | None:
    """The top choice at the first of some tokens that was not the model's top choice.

    None where each of them was, or where no alternatives tell.
    """
    for index in tokens:
        rank = choice.rank_of(index)
        if rank is not None and rank.value > 1:
            return top_choice(choice.alternatives_of(index))
    return None


class SecondScoring(NamedTuple):
    """How another model finds the text of a choice, in spans that both models' tokens add up to."""

    choice: Choice
    """The choice as it was scored first; the `first` tokens of the spans are its own."""
    spans: tuple[Span, ...]
    elsewhere: tuple[Alternative | None, ...]
    """For each span, the other model's top choice where that was another token."""
    scorer: str = ""
    """The other model's name."""

    @staticmethod
    def of(first: Passage, second: Passage, scorer: str = "") -> SecondScoring:
        """Compare two scorings of one text."""
        spans = tuple(align_scorings(first, second))
        elsewhere = tuple(top_choice_elsewhere(second.choice, span.second) for span in spans)
        return SecondScoring(first.choice, spans, elsewhere, scorer)

    def of_spans(self, choice: Choice) -> SecondScoring:
        """The same for a choice whose tokens are the spans."""
        spans = (span._replace(first=range(index, index + 1)) for index, span in enumerate(self.spans))
        return self._replace(choice=choice, spans=tuple(spans))

    def at(self, token: int) -> tuple[Span, Alternative | None] | None:
        """The span that a token of the choice is in, and its other top choice; None outside of all."""
        index = bisect_right(self.spans, token, key=lambda span: span.first.start) - 1
        if index < 0 or token not in self.spans[index].first:
            return None
        return self.spans[index], self.elsewhere[index]

    def difference(self, choice: Choice, token: int) -> float | None:
        """How much more the token's span surprises the other model.

        None where a surprisal is unknown, and for the tokens of another choice.
        """
        found = self.at(token) if choice is self.choice else None
        return None if found is None else found[0].difference

    def next_elsewhere(self, choice: Choice, token: int, step: int = 1) -> int | None:
        """The first token of the next span (step 1) or the previous one (-1) with another top choice.

        The span of `token` itself does not count. None where there is none, or of another choice.
        """
        if choice is not self.choice:
            return None
        pairs = zip(self.spans, self.elsewhere, strict=True)
        begins = [span.first for span, other in pairs if other is not None]
        if step > 0:
            return next((tokens.start for tokens in begins if tokens.start > token), None)
        return next((tokens.start for tokens in reversed(begins) if tokens.stop <= token), None)


def are_scorings(runs: Sequence[Run]) -> bool:
    """Whether runs are of one given text, whose tokens came back, and not of answers to it."""
    choices = [choice for run in runs for choice in run.ordered]
    is_one_text = all(run.choices and run.request.prompt == runs[0].request.prompt for run in runs)
    # Many endpoints generate no fewer than one token.
    return is_one_text and all(choice.echoed and len(choice) - choice.echoed <= 1 for choice in choices)


def common_positions(first: Passage, second: Passage) -> Iterator[tuple[int, int]]:
    """The tokens of two passages that begin at one place after an identical text, as pairs of indexes.

    The last pair is where the passages diverge: both distributions still follow the same text. An index
    behind a passage's tokens is its end.
    """
    shared = common_length(first.text, second.text)
    theirs = second.boundaries()
    for start, index in first.boundaries().items():
        if start > shared:
            return
        if (other := theirs.get(start)) is not None:
            yield index, other


def common_length(first: Sequence[str], second: Sequence[str]) -> int:
    """How many leading characters two texts share, or leading tokens two lists of them."""
    return next(
        (index for index, (mine, other) in enumerate(zip(first, second, strict=False)) if mine != other),
        min(len(first), len(second)),
    )
