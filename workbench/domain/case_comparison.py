"""Whether an endpoint still answers as it did: the values of a regression check.

A case is a recorded run. It is *same* where no repeat differs, *differs* where all do, and *noisy* where
only some do, which tells a change from an endpoint that does not repeat itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import inf, isfinite, isnan

from workbench.domain.agreement import Agreement, Position, Tolerances, compare_position
from workbench.domain.choice import Choice, ReceivedToken, Token
from workbench.domain.display import show_bytes
from workbench.domain.run import Run
from workbench.domain.scoring import Passage, common_positions


class CaseVerdict(StrEnum):
    """What came of a case."""

    SAME = "same"
    NOISY = "noisy"
    """Some repeats differ."""
    DIFFERS = "differs"
    """All repeats differ."""
    FAILED = "failed"
    """The endpoint did not answer."""
    SKIPPED = "skipped"
    """There is nothing to compare."""


@dataclass(frozen=True, slots=True)
class ReportedToken:
    """A token and the alternatives listed for it, as a report shows them."""

    token: str
    """Bytes that are not text are written `\\x..`; empty where the answer has ended."""
    logprob: float | None = None
    alternatives: tuple[tuple[str, float | None], ...] = ()
    """Texts and logprobs in nats, in the endpoint's order."""

    @staticmethod
    def of(token: Token | ReceivedToken | None) -> ReportedToken:
        """The distribution at a token; None is the end of the answer."""
        if token is None:
            return ReportedToken("")
        listed = tuple((_shown(text, raw), _finite(logprob)) for text, logprob, _, raw in token.alternatives)
        return ReportedToken(_shown(token.text, token.raw), _finite(token.logprob), listed)


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two answers differ most: where their texts diverge, else where their distributions do."""

    choice: int
    token: int
    """Index of the recorded token among those that were generated."""
    recorded: ReportedToken
    now: ReportedToken


@dataclass(frozen=True, slots=True)
class AnswerComparison:
    """A recorded answer held against another one."""

    agreement: Agreement = field(default_factory=Agreement)
    why: tuple[str, ...] = ()
    """What differs beyond the tolerances, each as one phrase; empty where nothing does."""
    difference: Difference | None = None
    error: str = ""
    """Why there is no answer to compare; empty where there is."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What came of a case."""

    number: int
    """Its place among all cases, from 0."""
    file: str
    run: str
    """Id of the recorded run; of one whose answer was blessed, the first run's."""
    name: str
    verdict: CaseVerdict
    repeats: int = 0
    differing: int = 0
    """How many of the repeats differ."""
    agreement: Agreement = field(default_factory=Agreement)
    why: tuple[str, ...] = ()
    difference: Difference | None = None


def is_deterministic(run: Run) -> bool:
    """Whether the same request should give the same text: greedy, or seeded."""
    return (
        run.request.parameters.number("temperature", 1) == 0 or run.request.parameters.get("seed") is not None
    )


def is_scored(run: Run) -> bool:
    """Whether any token of its answers has a logprob."""
    return any(not all(map(isnan, choice.logprobs[choice.echoed :])) for choice in run.choices.values())


def compare_runs(recorded: Run, now: Run, tolerances: Tolerances) -> AnswerComparison:
    """Compare the answers to one request up to and including where each first diverges.

    The texts must be equal where the request is deterministic.
    """
    pairs = [
        (Passage.answer_of(choice), Passage.answer_of(now.choices.get(choice.index, Choice(choice.index))))
        for choice in recorded.ordered
    ]
    compared = compare_passages(pairs, tolerances)
    if not is_deterministic(recorded):
        return compared
    texts = tuple(
        (f"choice {before.choice.index}: " if len(pairs) > 1 else "")
        + f"the text diverges at token {_divergence(before, after)[0] - before.tokens.start + 1}"
        for before, after in pairs
        if before.text != after.text
    )
    return replace(compared, why=texts + compared.why)


def compare_passages(pairs: Sequence[tuple[Passage, Passage]], tolerances: Tolerances) -> AnswerComparison:
    """Compare recorded passages with those of now, at every position that follows the same text."""
    positions: list[Position] = []
    largest: tuple[float, Passage, int, ReceivedToken | None, ReceivedToken | None] | None = None
    for recorded, now in pairs:
        for index, other in common_positions(recorded, now):
            first, second = _token(recorded, index), _token(now, other)
            if first is None or second is None or first.logprob is None or second.logprob is None:
                continue
            position = compare_position(first, second)
            positions.append(position)
            size = position.divergence or position.logprob_difference or 0.0
            if largest is None or size > largest[0]:
                largest = size, recorded, index, first, second
    for recorded, now in pairs:
        if recorded.text != now.text:
            index, other = _divergence(recorded, now)
            largest = inf, recorded, index, _token(recorded, index), _token(now, other)
            break
    agreement = Agreement.of(positions)
    difference = None
    if largest is not None:
        _, recorded, index, *tokens = largest
        token = index - recorded.choice.echoed
        difference = Difference(recorded.choice.index, token, *map(ReportedToken.of, tokens))
    return AnswerComparison(agreement, tolerances.exceeded(agreement), difference)


def judge(comparisons: Sequence[AnswerComparison]) -> tuple[CaseVerdict, int]:
    """The verdict on a case by its repeats, and how many of them differ."""
    if any(comparison.error for comparison in comparisons):
        return CaseVerdict.FAILED, 0
    differing = sum(bool(comparison.why) for comparison in comparisons)
    if not differing:
        return CaseVerdict.SAME, 0
    return CaseVerdict.DIFFERS if differing == len(comparisons) else CaseVerdict.NOISY, differing


def _divergence(recorded: Passage, now: Passage) -> tuple[int, int]:
    """The tokens in which two passages diverge: the last ones that begin at one place after the same text."""
    common = list(common_positions(recorded, now))
    return common[-1] if common else (recorded.tokens.start, now.tokens.start)


def _token(passage: Passage, index: int) -> ReceivedToken | None:
    """A token of a passage; None behind its end."""
    return passage.choice.received(index) if index < passage.tokens.stop else None


def _shown(text: str, raw: bytes | None) -> str:
    return text if raw is None else show_bytes(raw)


def _finite(number: float | None) -> float | None:
    return number if number is not None and isfinite(number) else None
