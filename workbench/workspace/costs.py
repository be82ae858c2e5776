"""Maximum cost of requests before they are sent, and whether to ask first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.domain.display import plural
from workbench.domain.endpoint import Endpoint
from workbench.domain.prompt import count_prompts
from workbench.domain.request import Request
from workbench.domain.split import Split, parts_of

if TYPE_CHECKING:
    from workbench.runner.many_runs import Job


@dataclass(frozen=True, slots=True)
class Cost:
    """The maximum cost of requests, if every answer reaches max_tokens; costs add up with `+`."""

    requests: int = 0
    answers: int = 0
    """Choices generated, including candidates of best_of."""
    tokens: int = 0
    """Completion tokens."""
    money: Mapping[str, float] = field(default_factory=dict)
    """Price of the answers by currency, for endpoints with prices."""

    def __add__(self, other: Cost) -> Cost:
        money = {
            currency: self.money.get(currency, 0.0) + other.money.get(currency, 0.0)
            for currency in (*self.money, *other.money)
        }
        return Cost(
            self.requests + other.requests, self.answers + other.answers, self.tokens + other.tokens, money
        )

    @property
    def is_plain(self) -> bool:
        """Whether this is a single request for one answer, which needs no notice."""
        return self.requests <= 1 and self.answers <= 1

    def must_be_confirmed(self, limit: int) -> bool:
        """Whether to ask before sending: if `tokens` exceeds `limit`; a limit of 0 never asks."""
        return 0 < limit < self.tokens

    def __str__(self) -> str:
        """Describe the cost in one sentence."""
        most = f"may generate up to {plural(self.tokens, 'completion token')}"
        text = f"This {most}" if self.requests == 1 else f"{plural(self.requests, 'request')}, which {most}"
        prices = " and ".join(f"{amount:.4f} {currency}" for currency, amount in self.money.items())
        return f"{text}, at most {prices} for the answers." if prices else f"{text}."


def cost_of(endpoint: Endpoint, request: Request, split: Split | None = None) -> Cost:
    """Return the maximum cost of a request, optionally split into several."""
    requests = 1 if split is None else len(parts_of(request, split))
    each = max(int(request.parameters.number(name, 1)) for name in ("n", "best_of"))
    money = {}
    if endpoint.prices is not None:
        money[endpoint.prices.currency] = request.billed_tokens * endpoint.prices.completion / 1_000_000
    return Cost(requests, count_prompts(request.prompt) * each, request.billed_tokens, money)


def cost_of_jobs(jobs: Iterable[Job]) -> Cost:
    """Return the maximum cost of the jobs whose runs have not ended."""
    total = Cost()
    for job in jobs:
        if job.run.is_running:
            total += cost_of(job.endpoint, job.run.request, job.run.split)
    return total
