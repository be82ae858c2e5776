"""Compute the figures of a completion from its token columns.

Logprobs are in nats, times in seconds. Means skip tokens without a logprob; a figure without data is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import filterfalse, pairwise
from math import exp, fsum, isnan, log, nan

from workbench.domain.choice import Choice
from workbench.domain.run import Run

_AT_ONCE = 0.02
"""Seconds; tokens that arrive within this time count as one chunk."""
_ROUNDING = 1e-6
"""A remaining probability below this may be a rounding error."""


def probability(logprob: float | None) -> float | None:
    """Return exp(logprob), at most 1 despite rounding."""
    return None if logprob is None else exp(min(logprob, 0.0))


def total(logprobs: Iterable[float]) -> float:
    """Sum logprobs; values that are not finite give infinity or NaN instead of an error."""
    numbers = list(logprobs)
    try:
        return fsum(numbers)
    except (OverflowError, ValueError):
        return sum(numbers)


def mean_logprob(logprobs: Iterable[float]) -> float | None:
    """Return the mean of the logprobs that are not NaN."""
    known = [logprob for logprob in logprobs if not isnan(logprob)]
    return total(known) / len(known) if known else None


def perplexity(logprobs: Iterable[float]) -> float | None:
    """Return exp of the mean surprisal: 1 if the model was certain of every token.

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
    """Return the model's bits per UTF-8 byte of some tokens, which is comparable between tokenizers.

    An unlisted token counts with its logprob ceiling, so the result is a lower bound. Tokens without logprob
    and ceiling are skipped with their bytes; None if no bytes remain.

    Gao et al. (2020), "The Pile: an 800GB dataset of diverse text for language modeling", section 3.1.
    """
    logprobs = logprob_ceilings(choice, tokens)
    known = [(index, logprob) for index, logprob in zip(tokens, logprobs, strict=True) if not isnan(logprob)]
    size = sum(len(choice.bytes_of(index)) for index, _ in known)
    return -total(logprob for _, logprob in known) / log(2) / size if size else None


def unlisted_tokens(choice: Choice, tokens: range) -> int:
    """Count the tokens without a logprob that have alternatives (the token was not among them)."""
    unknown = (index for index in tokens if isnan(choice.logprobs[index]))
    return sum(len(choice.alternative_logprobs_of(index)) > 0 for index in unknown)


def logprob_ceilings(choice: Choice, tokens: range) -> list[float]:
    """Return the logprobs of some tokens; for an unlisted token, the upper bound of its logprob.

    The bound is the smallest logprob of the listed top k, or that of the remaining mass if it is smaller.
    NaN if the token has no alternatives.
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
    """Return the total probability of the listed alternatives, at most 1; None if none has a logprob."""
    known = [exp(min(logprob, 0.0)) for logprob in alternatives if not isnan(logprob)]
    return min(fsum(known), 1.0) if known else None


def entropy(alternatives: Iterable[float], top: int) -> float | None:
    """Return a lower bound on the Shannon entropy, in nats, of a distribution with these alternatives.

    `top` of them are the most likely tokens (`Choice.listed_top`; 0 if unknown). No unlisted token is more
    likely than the least likely of these, so the entropy is lowest if the remaining mass is spread evenly
    over as few tokens as this allows. Exact if no mass remains.

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
    """Return the logprobs of the generated tokens, without an echoed prompt."""
    return choice.logprobs[choice.echoed :]


def completion_tokens(run: Run) -> int:
    """Return the number of generated tokens: as reported in the usage, else as received."""
    if run.usage is not None and run.usage.completion_tokens:
        return run.usage.completion_tokens
    return sum(len(choice) - choice.echoed for choice in run.choices.values())


def tokens_per_second(run: Run, now: float = 0.0) -> float | None:
    """Return the tokens of all choices per second between the arrivals of the first and the last token.

    The first token is not counted: its time is the prompt's evaluation. `now` (seconds since the request) is
    the end while the run streams. None for fewer than two tokens, and if all arrived at once: a response
    buffered until its end does not show the model's speed. In a run sent as several requests each choice has
    its own clock, so the result is the mean speed of one stream.
    """
    choices = list(run.choices.values())
    return _speed([[choice] for choice in choices]) if run.split else _speed([choices], now)


def choice_tokens_per_second(choice: Choice) -> float | None:
    """Return the tokens per second of one choice; None as for `tokens_per_second`."""
    return _speed([[choice]])


def _speed(requests: Sequence[Sequence[Choice]], now: float = 0.0) -> float | None:
    """Return the tokens per second, where each of some requests has its own clock and first token."""
    tokens, seconds = 0, 0.0
    for choices in requests:
        if generated := [choice for choice in choices if len(choice) > choice.echoed]:
            tokens += sum(len(choice) - choice.echoed for choice in generated) - 1
            last = max(choice.at[-1] for choice in generated)
            seconds += max(last, now) - min(choice.at[choice.echoed] for choice in generated)
    return tokens / seconds if tokens > 0 and seconds >= _AT_ONCE else None


def distinct(choice: Choice) -> float | None:
    """Return distinct-2: distinct token pairs divided by all token pairs; 1 means no repetition.

    Li, Galley, Brockett, Gao, Dolan (2016), "A diversity-promoting objective function for neural
    conversation models", section 5.2.
    """
    pairs = list(pairwise(choice.texts(choice.echoed)))
    return len(set(pairs)) / len(pairs) if pairs else None
