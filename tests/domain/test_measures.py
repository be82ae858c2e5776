"""The figures under an answer."""

from __future__ import annotations

from math import sqrt

import pytest

from tests.domain.builders import choice_of, run_of, token_of
from workbench.domain.endpoint import Prices
from workbench.domain.measures import Measure, cost, spread, summarise
from workbench.domain.run import Usage


def test_a_choice_is_summarised() -> None:
    choice = choice_of([token_of("a", 0.5), token_of("b", 0.125), token_of("a", 0.5), token_of("b", 0.5)])
    run = run_of(choice)
    run.usage = Usage(10, 4, 14)
    summary = summarise(run, choice, Prices(prompt=1.0, completion=2.0))
    assert summary.tokens == 4
    assert summary.perplexity == pytest.approx(2 ** (6 / 4))
    assert summary.first_token == 0.1
    assert summary.tokens_per_second == pytest.approx(10)
    assert summary.distinct_2 == pytest.approx(2 / 3)
    assert summary.finish_reason == "stop"
    assert summary.cost == pytest.approx(18e-6)
    assert summary.value(Measure.TOKENS) == 4


def test_every_measure_names_a_figure() -> None:
    choice = choice_of([token_of("a", 0.5), token_of("b", 0.5), token_of("c", 0.5)])
    run = run_of(choice)
    run.usage = Usage(1, 3, 4)
    summary = summarise(run, choice, Prices(1, 1))
    assert None not in {summary.value(measure) for measure in Measure}


def test_without_prices_or_usage_there_is_no_cost() -> None:
    assert cost(run_of(choice_of(["a"])), Prices(1, 1)) is None


def test_the_spread_is_the_sample_deviation() -> None:
    assert spread([1.0, 2.0, 3.0]) == (2.0, 1.0)
    assert spread([1.0, 3.0]) == pytest.approx((2.0, sqrt(2)))
    assert spread([5.0]) == (5.0, 0.0)
    assert spread([]) is None
