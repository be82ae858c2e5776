"""The figures of a completion, each from its token columns.

Logprobs are in nats, times in seconds. Tokens without a logprob are left out of means; a figure with
nothing to stand on is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import filterfalse, pairwise
from math import exp, fsum, isnan, log, nan

from workbench.domain.choice import Choice
from workbench.domain.run import Run

_AT_ONCE = 0.02
"""Seconds; tokens that arrive closer together came in one chunk."""
_ROUNDING = 1e-6
"""Probability; less than this may remain beside the listed ones only because they are rounded."""


def probability(logprob: float | None) -> float | None:
    """exp(logprob), held within 0 … 1 against rounding."""
    return None if logprob is None else min(exp(min(logprob, 0.0)), 1.0)


def total(logprobs: Iterable[float]) -> float:
    """The sum of logprobs, also of such as no model has: it may be infinite, or NaN."""
    numbers = list(logprobs)
    try:
        return fsum(numbers)
    except (OverflowError, ValueError):
        return sum(numbers)


def mean_logprob(logprobs: Iterable[float]) -> float | None:
    """The mean of the logprobs there are (NaN is none)."""
    known = [logprob for logprob in logprobs if not isnan(logprob)]
    return total(known) / len(known) if known else None


def perplexity(logprobs: Iterable[float]) -> float | None:
    """exp of the mean surprisal: 1 where the model was certain of every token.

    Jelinek, Mercer, Bahl, Baker (1977), "Perplexity, a measure of the difficulty of speech recognition
    tasks"; here with the natural logarithm, over the chosen tokens.
    """
    mean = mean_logprob(logprobs)
    if mean is None:
        return None
    try:
        return exp(-mean)
    except OverflowError:
        return float("inf")


def bits_per_byte(choice: Choice, tokens: range) -> float | None:
    """Bits that some tokens take by the model, for each byte of their UTF-8: comparable between tokenizers.

    An unlisted token counts with its ceiling, which makes this the least that it can be; tokens of which
    nothing is known are left out, with their bytes. None where no byte is left.

    Gao et al. (2020), "The Pile: an 800GB dataset of diverse text for language modeling", section 3.1.
    """
    logprobs = logprob_ceilings(choice, tokens)
    known = [(index, logprob) for index, logprob in zip(tokens, logprobs, strict=True) if not isnan(logprob)]
    size = sum(len(choice.bytes_of(index)) for index, _ in known)
    return -total(logprob for _, logprob in known) / log(2) / size if size else None


def unlisted_tokens(choice: Choice, tokens: range) -> int:
    """How many tokens have no logprob as they are not among the alternatives listed in their place."""
    unknown = (index for index in tokens if isnan(choice.logprobs[index]))
    return sum(len(choice.alternative_logprobs_of(index)) > 0 for index in unknown)


def logprob_ceilings(choice: Choice, tokens: range) -> list[float]:
    """The logprobs of some tokens; where one is not listed among the alternatives, the most it can have.

    That is the logprob of the least of the likeliest listed, or of the remaining mass if it is less. NaN
    where nothing is known.
    """
    return [
        _ceiling(choice, index) if isnan(choice.logprobs[index]) else choice.logprobs[index]
        for index in tokens
    ]


def _ceiling(choice: Choice, index: int) -> float:
    listed = sorted(filterfalse(isnan, choice.alternative_logprobs_of(index)), reverse=True)
    top = min(choice.listed_top, len(listed))
    if not top:
        return nan
    return min(listed[top - 1], log(max(1 - (coverage(listed) or 0.0), _ROUNDING)))


def coverage(alternatives: Iterable[float]) -> float | None:
    """The probability that the listed alternatives' logprobs sum to, at most 1; None where none is listed."""
    known = [exp(min(logprob, 0.0)) for logprob in alternatives if not isnan(logprob)]
    return min(fsum(known), 1.0) if known else None


def entropy(alternatives: Iterable[float], top: int) -> float | None:
    """The least Shannon entropy, in nats, of a distribution with these alternatives listed.

    `top` of them are the most likely tokens (`Choice.listed_top`; 0 where that is not known). The remaining
    mass is spread over at least so many tokens that none is likelier than the least of those: spread evenly
    over the fewest, it has the least entropy. Exact where nothing remains.

    Shannon (1948), "A mathematical theory of communication", section 6.
    """
    listed = sorted((exp(min(logprob, 0.0)) for logprob in alternatives if not isnan(logprob)), reverse=True)
    if not listed:
        return None
    total = fsum(listed)
    if total >= 1:
        return max(-fsum(mass * log(mass / total) for mass in listed if mass > 0) / total, 0.0)
    remaining = 1 - total
    least = listed[min(top, len(listed)) - 1] if top else 1.0
    largest = min(remaining, least) or remaining
    return fsum([-remaining * log(largest), *(-mass * log(mass) for mass in listed if mass > 0)])


def completion_logprobs(choice: Choice) -> Sequence[float]:
    """The logprobs of the tokens that the model generated, without an echoed prompt."""
    return choice.logprobs[choice.echoed :]


def completion_tokens(run: Run) -> int:
    """Tokens generated: as the endpoint counts them, else those that came."""
    if run.usage is not None and run.usage.completion_tokens:
        return run.usage.completion_tokens
    return sum(len(choice) - choice.echoed for choice in run.choices.values())


def tokens_per_second(run: Run, now: float | None = None) -> float | None:
    """Tokens of all choices over the seconds from the first token's arrival to the last one's.

    The first token's own time is the prompt's evaluation, so it is left out of both. `now` (seconds since
    the request) is the end while the run still streams. None for fewer than two tokens or arrival times, and
    where all came at once: an answer that was held back until it was whole does not tell the model's speed.
    The choices of a run that went out as several requests have a clock each: their speed is one stream's.
    """
    if run.split:
        spans = [span for choice in run.choices.values() if (span := _tokens_and_seconds([choice]))]
        return _speed(sum(tokens for tokens, _ in spans), sum(seconds for _, seconds in spans))
    span = _tokens_and_seconds(list(run.choices.values()), now)
    return None if span is None else _speed(*span)


def choice_tokens_per_second(choice: Choice) -> float | None:
    """The speed of one choice by itself; `tokens_per_second` says what is None."""
    span = _tokens_and_seconds([choice])
    return None if span is None else _speed(*span)


def _tokens_and_seconds(choices: Sequence[Choice], now: float | None = None) -> tuple[int, float] | None:
    """Tokens after the first one, and the seconds that they took; None where nothing was generated."""
    generated = [choice for choice in choices if len(choice) > choice.echoed]
    if not generated:
        return None
    tokens = sum(len(choice) - choice.echoed for choice in generated) - 1
    last = max(choice.at[-1] for choice in generated)
    return tokens, max(last, now or 0.0) - min(choice.at[choice.echoed] for choice in generated)


def _speed(tokens: int, seconds: float) -> float | None:
    return tokens / seconds if tokens > 0 and seconds >= _AT_ONCE else None


def distinct(choice: Choice) -> float | None:
    """Distinct-2: the proportion of different pairs of tokens among all of them; 1 means no repetition.

    Li, Galley, Brockett, Gao, Dolan (2016), "A diversity-promoting objective function for neural
    conversation models", section 5.2.
    """
    pairs = list(pairwise(choice.texts(choice.echoed)))
    return len(set(pairs)) / len(pairs) if pairs else None
