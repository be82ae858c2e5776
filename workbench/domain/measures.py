"""Summarise the figures of a choice for tables and screens."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from workbench.domain.choice import Choice
from workbench.domain.endpoint import Prices
from workbench.domain.figures import (
    choice_tokens_per_second,
    completion_logprobs,
    completion_tokens,
    distinct,
    mean_logprob,
    perplexity,
)
from workbench.domain.run import Run


class Measure(StrEnum):
    """A figure for grids and plots, named like its attribute of `Summary`."""

    PERPLEXITY = "perplexity"
    MEAN_LOGPROB = "mean logprob"
    TOKENS = "tokens"
    DISTINCT_2 = "distinct-2"
    FIRST_TOKEN = "TTFT"
    TOKENS_PER_SECOND = "tok/s"
    COST = "cost"

    @property
    def needs_logprobs(self) -> bool:
        """Whether the figure requires logprobs."""
        return self in (Measure.PERPLEXITY, Measure.MEAN_LOGPROB)


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of a choice; None if unknown."""

    tokens: int
    perplexity: float | None
    mean_logprob: float | None
    """Nats."""
    distinct_2: float | None
    first_token: float | None
    """Seconds."""
    tokens_per_second: float | None
    finish_reason: str | None
    cost: float | None

    def value(self, measure: Measure) -> float | None:
        """Return the value of a measure."""
        value: float | None = getattr(self, measure.name.lower())
        return value


def summarise(run: Run, choice: Choice, prices: Prices | None = None) -> Summary:
    """Return the figures of a choice; the cost is that of the whole run."""
    logprobs = completion_logprobs(choice)
    return Summary(
        tokens=len(choice) - choice.echoed if len(run.choices) > 1 else completion_tokens(run),
        perplexity=perplexity(logprobs),
        mean_logprob=mean_logprob(logprobs),
        distinct_2=distinct(choice),
        first_token=choice.at[0] if len(choice) else None,
        tokens_per_second=choice_tokens_per_second(choice),
        finish_reason=choice.finish_reason,
        cost=cost(run, prices),
    )


def cost(run: Run, prices: Prices | None) -> float | None:
    """Return a run's cost from its usage, in the currency of the prices; None without usage or prices."""
    if prices is None or run.usage is None:
        return None
    usage = run.usage
    return (usage.prompt_tokens * prices.prompt + usage.completion_tokens * prices.completion) / 1_000_000


def show_spread(values: list[float]) -> str:
    """Format the mean of some values, with the standard deviation if there are several; empty for none."""
    if (found := spread(values)) is None:
        return ""
    return f"{found[0]:.3g}" + (f" ±{found[1]:.2g}" if len(values) > 1 else "")


def spread(values: list[float]) -> tuple[float, float] | None:
    """Return the mean and sample standard deviation (0 for a single value); None for no values."""
    if not values:
        return None
    mean = sum(values) / len(values)
    if len(values) == 1:
        return mean, 0.0
    return mean, (sum((value - mean) ** 2 for value in values) / (len(values) - 1)) ** 0.5
