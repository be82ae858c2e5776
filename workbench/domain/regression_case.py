"""Comparisons of a regression check: does an endpoint still give the recorded answers?

A case is a recorded run. Its verdict is *same* if no repeat differs, *differs* if all do and *noisy* if only
some do; *noisy* separates a nondeterministic endpoint from a changed one.
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
    """The outcome of a case."""

    SAME = "same"
    NOISY = "noisy"
    """Some repeats differ."""
    DIFFERS = "differs"
    """All repeats differ."""
    FAILED = "failed"
    """A repeat had no answer to compare."""
    SKIPPED = "skipped"
    """There is nothing to compare."""


@dataclass(frozen=True, slots=True)
class ReportedToken:
    """A token and its listed alternatives, as shown in a report."""

    token: str
    """The text, or `\\x..` for bytes that are not text; empty after the end of the answer."""
    logprob: float | None = None
    alternatives: tuple[tuple[str, float | None], ...] = ()
    """Texts and logprobs in nats, in the endpoint's order."""

    @staticmethod
    def of(token: Token | ReceivedToken | None) -> ReportedToken:
        """Convert a token; None stands for the end of the answer."""
        if token is None:
            return ReportedToken("")
        listed = tuple((_shown(text, raw), _finite(logprob)) for text, logprob, _, raw in token.alternatives)
        return ReportedToken(_shown(token.text, token.raw), _finite(token.logprob), listed)


@dataclass(frozen=True, slots=True)
class Difference:
    """The largest difference of two answers: the divergence of their texts, else of their distributions."""

    choice: int
    token: int
    """Index of the recorded token among the generated tokens."""
    recorded: ReportedToken
    now: ReportedToken


@dataclass(frozen=True, slots=True)
class AnswerComparison:
    """The comparison of a recorded answer with a new one."""

    agreement: Agreement = field(default_factory=Agreement)
    why: tuple[str, ...] = ()
    """Each difference beyond the tolerances in one phrase; empty if there is none."""
    difference: Difference | None = None
    error: str = ""
    """Why there is no answer to compare; otherwise empty."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of a case."""

    number: int
    """Index among all cases, from 0."""
    file: str
    run: str
    """Id of the recorded run; if its answer was blessed, the id of the first run."""
    name: str
    verdict: CaseVerdict
    repeats: int = 0
    differing: int = 0
    """Number of repeats that differ."""
    agreement: Agreement = field(default_factory=Agreement)
    why: tuple[str, ...] = ()
    difference: Difference | None = None


def is_deterministic(run: Run) -> bool:
    """Whether the same request should give the same text: greedy or seeded sampling."""
    return (
        run.request.parameters.number("temperature", 1) == 0 or run.request.parameters.get("seed") is not None
    )


def is_scored(run: Run) -> bool:
    """Whether any generated token of the run has a logprob."""
    return any(not all(map(isnan, choice.logprobs[choice.echoed :])) for choice in run.choices.values())


def compare_runs(recorded: Run, now: Run, tolerances: Tolerances) -> AnswerComparison:
    """Compare the choices of two runs of the same request, each up to and including its divergence.

    If the request is deterministic, differing texts exceed the tolerances too.
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
    """Compare recorded with new passages at every position that follows the same text."""
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
    """Return the verdict on a case from its repeats, and the number of repeats that differ."""
    if any(comparison.error for comparison in comparisons):
        return CaseVerdict.FAILED, 0
    differing = sum(bool(comparison.why) for comparison in comparisons)
    if not differing:
        return CaseVerdict.SAME, 0
    return CaseVerdict.DIFFERS if differing == len(comparisons) else CaseVerdict.NOISY, differing


def _divergence(recorded: Passage, now: Passage) -> tuple[int, int]:
    """Return the tokens at which two passages diverge: the last pair that follows the same text."""
    common = list(common_positions(recorded, now))
    return common[-1] if common else (recorded.tokens.start, now.tokens.start)


def _token(passage: Passage, index: int) -> ReceivedToken | None:
    """Return a token of the passage; None after its end."""
    return passage.choice.received(index) if index < passage.tokens.stop else None


def _shown(text: str, raw: bytes | None) -> str:
    return text if raw is None else show_bytes(raw)


def _finite(number: float | None) -> float | None:
    return number if number is not None and isfinite(number) else None
