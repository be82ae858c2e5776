"""Notable tokens: the surprising ones, those that were not the top choice, and those of low coverage."""

from __future__ import annotations

from math import log
from typing import Literal, NamedTuple, TypeAlias

from workbench.domain.choice import Choice
from workbench.domain.figures import coverage

SURPRISING = 0.1
"""Default of the probability below which a token is surprising."""
LOW_COVERAGE = 0.5
"""Default of the coverage (probability sum of the listed alternatives) below which it is low."""


Notable: TypeAlias = Literal["surprising", "not_first", "low_coverage"]
"""Why a token is notable."""


class Thresholds(NamedTuple):
    """The thresholds for notable tokens."""

    surprising: float = -log(SURPRISING)
    """The surprisal in nats above which a token is surprising."""
    low_coverage: float = LOW_COVERAGE
    """The probability sum of the listed alternatives below which coverage is low."""

    def next(self, kind: Notable, choice: Choice, position: int, step: int = 1) -> int | None:
        """Return the index of the next (step 1) or previous (-1) notable token; None if there is none."""
        positions = range(position + step, len(choice) if step > 0 else -1, step)
        match kind:
            case "surprising":
                logprobs, edge = choice.logprobs, -self.surprising
                found = (index for index in positions if logprobs[index] < edge)
            case "not_first":
                ranks = ((index, choice.rank_of(index)) for index in positions)
                found = (index for index, rank in ranks if rank is not None and rank.value > 1)
            case "low_coverage":
                covered = ((index, coverage(choice.alternative_logprobs_of(index))) for index in positions)
                found = (index for index, mass in covered if mass is not None and mass < self.low_coverage)
        return next(found, None)
