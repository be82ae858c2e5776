"""The thresholds of surprise and coverage, as a person types them."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

from workbench.domain.display import one_line
from workbench.domain.errors import BadValueError
from workbench.tui.flows import FlowContext
from workbench.tui.popups.question import Form, FormLine


async def surprise_threshold(flow: FlowContext) -> None:
    """Set the probability below which a token is surprising."""
    thresholds, title = flow.app.thresholds, "[ and ] go to tokens less likely than"
    if (probability := await _ask_probability(flow, title, exp(-thresholds.surprising))) is not None:
        flow.app.use_thresholds(thresholds._replace(surprising=-log(probability)))


async def coverage_threshold(flow: FlowContext) -> None:
    """Set the top-k mass below which the coverage of a token is low."""
    thresholds, title = flow.app.thresholds, "< and > go to tokens whose alternatives cover less than"
    if (probability := await _ask_probability(flow, title, thresholds.low_coverage)) is not None:
        flow.app.use_thresholds(thresholds._replace(low_coverage=probability))


async def _ask_probability(flow: FlowContext, title: str, now: float) -> float | None:
    """Ask for a probability, as `10%`, `0.1` or a surprisal such as `2.3 nats`."""
    return await flow.ask(Form(title, [FormLine("Probability", f"{now * 100:g}%")], _read_probability))


def _read_probability(typed: Sequence[str]) -> float:
    if (probability := read_probability(typed[0])) is None:
        raise BadValueError(
            f"{one_line(typed[0], 40) or 'Nothing'} is not a probability between 0 and 1.",
            hint="Type 10%, 0.1 or 2.3 nats.",
        )
    return probability


def read_probability(text: str) -> float | None:
    """Return the probability that a text stands for; None unless it is between 0 and 1."""
    typed = text.strip().lower()
    number = typed.removesuffix("%").removesuffix("nats").removesuffix("nat").strip()
    try:
        value = float(number)
    except ValueError:
        return None
    if typed.endswith("%"):
        value /= 100
    elif typed.endswith(("nat", "nats")):
        value = exp(-value) if value > 0 else 0.0
    return value if 0 < value < 1 else None
