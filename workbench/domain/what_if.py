"""Apply other sampling parameters to a token's distribution, using only its listed alternatives.

Unlisted tokens are unknown, so a result that depends on them is marked as inexact. Only raw model logprobs
can be reshaped; post-sampling logprobs are already reshaped.
"""

from collections.abc import Sequence
from itertools import islice
from math import exp, fsum, log
from typing import NamedTuple

LLAMA_ORDER = ("top_k", "top_p", "min_p", "temperature")
"""llama.cpp's order: temperature comes last, so the other samplers see the raw probabilities."""


_LARGEST_VOCABULARY = 1e6


class Sampling(NamedTuple):
    """The parameters that reshape a distribution; None means neutral."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None

    @property
    def is_neutral(self) -> bool:
        """Whether the parameters change nothing."""
        return (
            self.temperature in (None, 1)
            and self.top_p in (None, 1)
            and self.top_k is None
            and self.min_p in (None, 0)
        )


class Reshaped(NamedTuple):
    """A distribution after the samplers."""

    probabilities: tuple[float | None, ...]
    """By listed token, in the given order; 0 if filtered out, None without a logprob."""
    remaining: float
    """The remaining mass; temperature treats it as the fewest tokens that it can consist of."""
    remaining_is_exact: bool
    """Whether `remaining`, and with it every probability, is certain rather than an estimate."""

    @property
    def survivors(self) -> int:
        """The number of listed tokens that are not filtered out."""
        return sum(1 for probability in self.probabilities if probability)


def sampler_order(order: Sequence[str]) -> list[str]:
    """Return all samplers in an endpoint's order; those not named in it first, in llama.cpp's order."""
    known = [name for name in order if name in LLAMA_ORDER]
    return [*(name for name in LLAMA_ORDER if name not in known), *known]


def reshape(
    logprobs: Sequence[float | None],
    sampling: Sampling,
    order: Sequence[str] = LLAMA_ORDER,
    top: int | None = None,
) -> Reshaped:
    """Apply samplers to listed raw logprobs (nats), in the `sampler_order`.

    No unlisted token is assumed more likely than the least likely of the `top` most likely listed ones (None:
    of all listed); a further token may be listed only because it was chosen.
    """
    state = _State(logprobs, len(logprobs) if top is None else top)
    for name in sampler_order(order):
        match name:
            case "temperature" if sampling.temperature is not None:
                state.heat(sampling.temperature)
            case "top_k" if sampling.top_k is not None and sampling.top_k > 0:
                state.keep_likeliest(sampling.top_k)
            case "top_p" if sampling.top_p is not None and sampling.top_p < 1:
                state.keep_nucleus(sampling.top_p)
            case "min_p" if sampling.min_p:
                state.keep_near_best(sampling.min_p)
    return state.result()


class _State:
    def __init__(self, logprobs: Sequence[float | None], top: int) -> None:
        known = [(exp(min(logprob, 0.0)), -i) for i, logprob in enumerate(logprobs) if logprob is not None]
        self.logprobs = logprobs
        self.weights = {-index: weight for weight, index in sorted(known, reverse=True) if weight}
        """Weights of the tokens that are not filtered out, by index, the most likely first."""
        # Listed probabilities are rounded; a tiny remainder is a rounding error.
        self.remaining = remaining if (remaining := 1 - fsum(self.weights.values())) > 1e-6 else 0.0
        self.top = top
        self.exact = True

    def most_unlisted(self) -> float:
        """Return the upper bound of an unlisted token's weight."""
        return [1.0, *islice(self.weights.values(), self.top)][-1]

    def total(self) -> float:
        return fsum(self.weights.values()) + self.remaining

    def drop_remaining(self) -> None:
        self.remaining, self.exact = 0.0, True

    def heat(self, temperature: float) -> None:
        if temperature <= 0:
            self.keep_likeliest(1)
            return
        if temperature == 1:
            return
        best, least = max(self.weights.values(), default=1.0), self.most_unlisted()

        def hot(weight: float) -> float:
            return exp(min(log(weight) - log(best), 0.0) / temperature)

        heated = ((index, hot(weight)) for index, weight in self.weights.items())
        self.weights = {index: weight for index, weight in heated if weight}
        if self.remaining:
            # The fewest tokens that the remaining mass can consist of.
            count = min(max(self.remaining / least, 1.0), _LARGEST_VOCABULARY)
            self.remaining, self.exact = count * hot(self.remaining / count), False

    def keep_likeliest(self, count: int) -> None:
        if count <= min(self.top, len(self.weights)):
            self.drop_remaining()
        elif self.remaining:
            self.exact = False
        self.weights = dict(islice(self.weights.items(), count))

    def keep_nucleus(self, mass: float) -> None:
        total = self.total()
        reached = 0.0
        for count, weight in enumerate(islice(self.weights.values(), self.top), 1):
            reached += weight / total
            if reached >= mass:
                self.keep_likeliest(count)
                return
        if self.remaining:
            self.remaining, self.exact = max(mass - reached, 0.0) * total, False

    def keep_near_best(self, fraction: float) -> None:
        if not self.weights:
            return
        least, most_unlisted = fraction * max(self.weights.values()), self.most_unlisted()
        self.weights = {index: weight for index, weight in self.weights.items() if weight >= least}
        # After an inexact step, `remaining` is only an estimate, so it must not decide the cut.
        if most_unlisted < least or (self.exact and self.remaining < least):
            self.drop_remaining()
        elif self.remaining:
            self.exact = False

    def result(self) -> Reshaped:
        total = self.total() or 1.0
        probabilities = (
            None if logprob is None else self.weights.get(index, 0.0) / total
            for index, logprob in enumerate(self.logprobs)
        )
        return Reshaped(tuple(probabilities), self.remaining / total, self.exact)
