"""Apply other sampling parameters to a token's distribution, using only its listed alternatives.

Unlisted tokens are unknown, so a result that depends on them is marked as inexact. Only raw model logprobs
can be reshaped; post-sampling logprobs are already reshaped.
"""

from collections.abc import Sequence
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


def reshape(
    logprobs: Sequence[float | None],
    sampling: Sampling,
    order: Sequence[str] = LLAMA_ORDER,
    top: int | None = None,
) -> Reshaped:
    """Apply samplers to listed raw logprobs (nats), in an endpoint's order.

    Samplers not named in `order` are applied first, in llama.cpp's order. No unlisted token is assumed more
    likely than the least likely of the `top` most likely listed ones (None: of all listed); a further token
    may be listed only because it was chosen.
    """
    state = _State(logprobs, len(logprobs) if top is None else top)
    known = [name for name in order if name in LLAMA_ORDER]
    for name in [*(sampler for sampler in LLAMA_ORDER if sampler not in known), *known]:
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
        self.weights = [None if logprob is None else exp(min(logprob, 0.0)) for logprob in logprobs]
        total = fsum(weight for weight in self.weights if weight is not None)
        # Listed probabilities are rounded; a tiny remainder is a rounding error.
        self.remaining = remaining if (remaining := max(1 - total, 0.0)) > 1e-6 else 0.0
        self.top = top
        self.exact = True

    def ranked(self) -> list[int]:
        known = [(weight, -index) for index, weight in enumerate(self.weights) if weight]
        return [-index for _, index in sorted(known, reverse=True)]

    def most_unlisted(self) -> float:
        """Return the upper bound of an unlisted token's weight."""
        ranked = self.ranked()[: self.top]
        return (self.weights[ranked[-1]] or 0.0) if ranked else 1.0

    def total(self) -> float:
        return fsum(weight for weight in self.weights if weight) + self.remaining

    def cut(self, keep: set[int]) -> None:
        self.weights = [
            None if weight is None else (weight if index in keep else 0.0)
            for index, weight in enumerate(self.weights)
        ]

    def drop_remaining(self) -> None:
        self.remaining, self.exact = 0.0, True

    def heat(self, temperature: float) -> None:
        if temperature <= 0:
            self.keep_likeliest(1)
            return
        if temperature == 1:
            return
        known = [weight for weight in self.weights if weight]
        best, least = max(known, default=1.0), self.most_unlisted()

        def hot(weight: float) -> float:
            return exp(min(log(weight) - log(best), 0.0) / temperature) if weight > 0 else 0.0

        self.weights = [None if weight is None else hot(weight) for weight in self.weights]
        if self.remaining:
            # The fewest tokens that the remaining mass can consist of.
            count = min(max(self.remaining / least, 1.0), _LARGEST_VOCABULARY)
            self.remaining, self.exact = count * hot(self.remaining / count), False

    def keep_likeliest(self, count: int) -> None:
        ranked = self.ranked()
        self.cut(set(ranked[:count]))
        if count <= self.top and count <= len(ranked):
            self.drop_remaining()
        elif self.remaining:
            self.exact = False

    def keep_nucleus(self, mass: float) -> None:
        total = self.total()
        reached, keep = 0.0, set[int]()
        for index in self.ranked()[: self.top]:
            keep.add(index)
            reached += (self.weights[index] or 0.0) / total
            if reached >= mass:
                self.cut(keep)
                self.drop_remaining()
                return
        if self.remaining:
            self.remaining, self.exact = max(mass - reached, 0.0) * total, False

    def keep_near_best(self, fraction: float) -> None:
        ranked = self.ranked()
        if not ranked:
            return
        least, most_unlisted = fraction * (self.weights[ranked[0]] or 0.0), self.most_unlisted()
        self.cut({index for index in ranked if (self.weights[index] or 0.0) >= least})
        # After an inexact step, `remaining` is only an estimate, so it must not decide the cut.
        if most_unlisted < least or (self.exact and self.remaining < least):
            self.drop_remaining()
        elif self.remaining:
            self.exact = False

    def result(self) -> Reshaped:
        total = self.total()
        if not total:
            return Reshaped(tuple(self.weights), 0.0, self.exact)
        probabilities = tuple(None if weight is None else weight / total for weight in self.weights)
        return Reshaped(probabilities, self.remaining / total, self.exact)
