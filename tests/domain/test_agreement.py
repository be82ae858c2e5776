"""Two distributions after one and the same text."""

from __future__ import annotations

from math import exp, fsum, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.builders import choice_of, token_of
from workbench.domain.agreement import Agreement, Tolerances, compare_position, divergence
from workbench.domain.choice import ReceivedToken

weights = st.lists(st.integers(1, 1000), min_size=8, max_size=8)
names = [bytes([97 + index]) for index in range(8)]


def masses(weights: list[int]) -> list[float]:
    return [weight / sum(weights) for weight in weights]


def top(probabilities: list[float], k: int) -> dict[bytes, float]:
    """The logprobs of the k likeliest tokens of a distribution."""
    ranked = sorted(zip(probabilities, names, strict=True), reverse=True)[:k]
    return {name: log(mass) for mass, name in ranked}


@given(weights, weights, st.integers(1, 8), st.integers(1, 8))
def test_divergence_lies_between_nothing_and_that_of_whole_distributions(
    own_weights: list[int], other_weights: list[int], k: int, other_k: int
) -> None:
    first, second = masses(own_weights), masses(other_weights)
    whole = fsum(p * log(p / q) for p, q in zip(first, second, strict=True))
    found = divergence(top(first, k), top(second, other_k))
    if found is not None:
        assert 0 <= found <= whole + 1e-5


@given(weights, st.integers(1, 8))
def test_equal_distributions_do_not_diverge(parts: list[int], k: int) -> None:
    listed = top(masses(parts), k)
    assert divergence(listed, listed) == pytest.approx(0, abs=1e-12)


@given(st.dictionaries(st.sampled_from(names), st.floats(-30, 0.1)), st.floats(-30, 0.1))
def test_what_servers_round_diverges_by_a_finite_number_that_is_not_negative(
    listed: dict[bytes, float], more: float
) -> None:
    found = divergence(listed, {**dict.fromkeys(listed, more), b"z": -1.0})
    assert (found is None) == (not listed)
    assert found is None or 0 <= found < 100


def test_divergence_of_whole_distributions_is_exact() -> None:
    found = divergence({b"a": log(0.5), b"b": log(0.5)}, {b"a": log(0.25), b"b": log(0.75)})
    assert found == pytest.approx(0.5 * log(2) + 0.5 * log(2 / 3), abs=1e-4)


def token(text: str, probability: float | None = None, **others: float) -> ReceivedToken:
    return choice_of([token_of(text, probability, **others)]).received(0)


def test_a_position_tells_the_top_the_overlap_and_the_recorded_token() -> None:
    found = compare_position(token("a", 0.5, b=0.3, c=0.1), token("b", 0.6, a=0.2, d=0.1))
    assert found.same_top is False
    assert found.overlap == pytest.approx(2 / 3)
    assert found.logprob_difference == pytest.approx(log(0.5 / 0.2))
    assert found.divergence is not None
    assert found.divergence > 0


def test_a_recorded_token_that_is_not_listed_now_has_no_difference() -> None:
    assert compare_position(token("a", 0.5, b=0.3), token("b", 0.6, c=0.2)).logprob_difference is None


def test_positions_without_alternatives_tell_the_recorded_token_alone() -> None:
    first, second = (token("a", mass)._replace(alternatives=()) for mass in (0.5, 0.25))
    found = compare_position(first, second)
    assert found.logprob_difference == pytest.approx(log(2))
    assert (found.same_top, found.overlap, found.divergence) == (None, None, None)


def test_figures_add_up_to_those_of_all_positions() -> None:
    positions = [
        compare_position(token("a", 0.5, b=0.3), token("a", 0.4, b=0.3)),
        compare_position(token("a", 0.5, b=0.3), token("b", 0.7, a=0.1)),
        compare_position(token("a"), token("a")),
    ]
    found = Agreement.of(positions)
    assert found == sum((Agreement.of([position]) for position in positions), Agreement())
    assert found.positions == 3
    assert found.same_top.mean == 0.5
    assert found.logprob_difference.largest == pytest.approx(log(5))
    assert found.logprob_difference.mean == pytest.approx((log(5) + log(1.25)) / 2)
    assert Agreement().divergence.mean is None


def test_each_tolerance_names_what_exceeds_it() -> None:
    found = Agreement.of([compare_position(token("a", 0.5, b=0.3), token("b", 0.7, a=0.1))])
    assert Tolerances().exceeded(found) == ()
    assert Tolerances(5, 5, 0).exceeded(found) == ()
    assert [failure.split(" (")[0].split()[0] for failure in Tolerances(0.1, 0.1, 0.5).exceeded(found)] == [
        "KL",
        "|Δlogprob|",
        "top-1",
    ]
    assert exp(found.logprob_difference.largest) == pytest.approx(5)
