"""Reshaping a token's distribution from what is listed of it."""

from __future__ import annotations

from itertools import pairwise
from math import fsum, inf, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.what_if import Sampling, reshape

HALF_LISTED = [log(0.3), log(0.15), log(0.05)]
FULLY_LISTED = [log(0.5), log(0.3), log(0.2)]

probabilities = st.lists(st.floats(0.001, 1), min_size=1, max_size=8).flatmap(
    lambda weights: st.floats(sum(weights), 10).map(lambda total: [log(weight / total) for weight in weights])
)
samplings = st.builds(
    Sampling,
    st.none() | st.floats(0, 2),
    st.none() | st.floats(0.01, 1),
    st.none() | st.integers(1, 128),
    st.none() | st.floats(0, 1),
)


def test_neutral_parameters_change_nothing_and_the_rest_is_named() -> None:
    shaped = reshape(HALF_LISTED, Sampling())
    assert shaped.probabilities == pytest.approx((0.3, 0.15, 0.05))
    assert shaped.remaining == pytest.approx(0.5)
    assert shaped.remaining_is_exact


def test_temperature_zero_leaves_the_likeliest_alone() -> None:
    shaped = reshape(HALF_LISTED, Sampling(temperature=0))
    assert shaped.probabilities == (1, 0, 0)
    assert (shaped.remaining, shaped.survivors) == (0, 1)


def test_a_low_temperature_sharpens() -> None:
    shaped = reshape(FULLY_LISTED, Sampling(temperature=0.5))
    assert shaped.probabilities == pytest.approx((0.25 / 0.38, 0.09 / 0.38, 0.04 / 0.38))


def test_the_rest_is_no_single_token_however_large_it_is() -> None:
    shaped = reshape([log(0.2), log(0.1)], Sampling(temperature=0.5))
    assert shaped.probabilities == pytest.approx((0.04 / 0.12, 0.01 / 0.12))
    assert not shaped.remaining_is_exact


def test_top_k_within_the_listed_leaves_nothing_unknown() -> None:
    shaped = reshape(HALF_LISTED, Sampling(top_k=2))
    assert shaped.probabilities == pytest.approx((2 / 3, 1 / 3, 0))
    assert shaped.remaining == 0
    assert shaped.remaining_is_exact


def test_top_k_beyond_the_listed_says_that_the_rest_is_an_estimate() -> None:
    shaped = reshape(HALF_LISTED, Sampling(top_k=40))
    assert shaped.remaining > 0
    assert not shaped.remaining_is_exact


def test_top_p_keeps_the_token_that_reaches_the_mass() -> None:
    assert reshape(FULLY_LISTED, Sampling(top_p=0.5)).probabilities == pytest.approx((1, 0, 0))
    assert reshape(FULLY_LISTED, Sampling(top_p=0.6)).probabilities == pytest.approx((0.625, 0.375, 0))


def test_top_p_beyond_the_listed_keeps_the_unknown_mass_it_needs() -> None:
    shaped = reshape(HALF_LISTED, Sampling(top_p=0.8))
    assert shaped.remaining == pytest.approx(0.3 / 0.8)
    assert not shaped.remaining_is_exact


def test_min_p_compares_with_the_likeliest() -> None:
    shaped = reshape(HALF_LISTED, Sampling(min_p=0.4))
    assert shaped.probabilities == pytest.approx((2 / 3, 1 / 3, 0))
    assert shaped.remaining == 0


def test_the_order_of_samplers_matters() -> None:
    sampling = Sampling(temperature=2, top_p=0.5)
    last = reshape(FULLY_LISTED, sampling, ("top_p", "temperature"))
    first = reshape(FULLY_LISTED, sampling, ("temperature", "top_p"))
    assert (last.survivors, first.survivors) == (1, 2)


def test_tokens_without_a_number_stay_unknown() -> None:
    assert reshape([None, log(0.5)], Sampling(top_k=1)).probabilities == (None, 1)


def test_impossible_tokens_get_no_share() -> None:
    assert reshape([0.0, -inf], Sampling(temperature=2)).probabilities == (1, 0)


@given(probabilities, samplings, st.permutations(["temperature", "top_p", "top_k", "min_p"]))
def test_shares_and_rest_always_sum_to_one(
    logprobs: list[float], sampling: Sampling, order: list[str]
) -> None:
    shaped = reshape(logprobs, sampling, order)
    probabilities = [mass for mass in shaped.probabilities if mass is not None]
    assert fsum([*probabilities, shaped.remaining]) == pytest.approx(1)
    assert shaped.survivors >= 1
    assert all(0 <= mass <= 1 for mass in probabilities)


@given(probabilities, samplings)
def test_samplers_never_swap_two_tokens(logprobs: list[float], sampling: Sampling) -> None:
    probabilities = [mass or 0 for mass in reshape(logprobs, sampling).probabilities]
    ranked = sorted(range(len(logprobs)), key=lambda index: -logprobs[index])
    assert all(probabilities[index] >= probabilities[next_] - 1e-12 for index, next_ in pairwise(ranked))


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=12, unique=True), st.integers(0, 5), st.data())
def test_what_is_called_exact_is_what_the_whole_distribution_becomes(
    weights: list[int], top: int, data: st.DataObject
) -> None:
    whole = [log(weight / sum(weights)) for weight in sorted(weights, reverse=True)]
    chosen = data.draw(st.integers(0, len(whole) - 1))
    sampling = data.draw(samplings)
    listed = [index for index in range(len(whole)) if index < top or index == chosen]
    shaped = reshape([whole[index] for index in listed], sampling, top=min(top, len(whole)))
    right = reshape(whole, sampling).probabilities
    if shaped.remaining_is_exact:
        assert shaped.probabilities == pytest.approx([right[index] for index in listed], abs=1e-5)


def test_a_rest_that_a_nucleus_may_have_cut_is_not_taken_for_too_unlikely() -> None:
    """Of [2/3, 1/3] only the second is listed: the first one is all that is left."""
    shaped = reshape([log(1 / 3)], Sampling(None, 0.25, None, 1.0), top=0)
    assert not shaped.remaining_is_exact


def test_a_token_listed_beside_the_likeliest_ones_says_nothing_of_the_others() -> None:
    listed = [log(0.5), log(0.2), log(0.001)]
    for sampling in (Sampling(top_k=3), Sampling(min_p=0.01), Sampling(top_p=0.7005)):
        shaped = reshape(listed, sampling, top=2)
        assert not shaped.remaining_is_exact
        assert shaped.remaining > 0
