"""The figures of a completion."""

from __future__ import annotations

from math import exp, inf, log, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.builders import choice_of, run_of, token_of
from workbench.domain.choice import Choice, ReceivedToken
from workbench.domain.figures import (
    bits_per_byte,
    choice_tokens_per_second,
    coverage,
    distinct,
    entropy,
    mean_logprob,
    perplexity,
    probability,
    tokens_per_second,
)
from workbench.domain.scoring import Passage
from workbench.domain.split import Split

logprobs = st.lists(st.floats(-20, 0), min_size=1, max_size=20)


@given(logprobs)
def test_perplexity_is_never_below_one(values: list[float]) -> None:
    found = perplexity(values)
    assert found is not None
    assert found >= 1


@given(st.integers(1, 1000), st.integers(1, 50))
def test_the_perplexity_of_equal_guesses_is_their_number(choices: int, tokens: int) -> None:
    assert perplexity([log(1 / choices)] * tokens) == pytest.approx(choices)


def test_tokens_without_a_logprob_are_left_out() -> None:
    assert mean_logprob([-1.0, nan, -3.0]) == -2.0
    assert mean_logprob([nan]) is None
    assert perplexity([]) is None


def test_an_impossible_token_makes_an_infinite_perplexity() -> None:
    assert perplexity([-inf, -1.0]) == inf
    assert perplexity([-1e6]) == inf


@given(logprobs)
def test_coverage_is_a_probability(values: list[float]) -> None:
    found = coverage(values)
    assert found is not None
    assert 0 <= found <= 1


def test_entropy_spreads_the_remaining_mass_over_as_few_tokens_as_there_can_be() -> None:
    assert entropy([log(0.5)], 1) == pytest.approx(log(2))
    assert entropy([log(0.25)] * 4, 4) == pytest.approx(log(4))
    assert entropy([log(0.002)] * 5, 5) == pytest.approx(log(500))
    # A token listed beside the most likely ones says nothing of the others.
    assert entropy([log(0.5), log(0.001)], 1) == pytest.approx(
        -0.5 * log(0.5) - 0.001 * log(0.001) - 0.499 * log(0.499)
    )
    assert entropy([log(0.002)], 0) == pytest.approx(-0.002 * log(0.002) - 0.998 * log(0.998))
    assert entropy([0.0], 1) == 0
    assert entropy([log(0.9), -9999.0], 2) == pytest.approx(-0.9 * log(0.9) - 0.1 * log(0.1))
    assert entropy([], 0) is None


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=30), st.integers(0, 8), st.data())
def test_entropy_is_a_lower_bound_of_the_whole_distributions(
    weights: list[float], top: int, data: st.DataObject
) -> None:
    whole = sorted((weight / sum(weights) for weight in weights), reverse=True)
    chosen = data.draw(st.integers(0, len(whole) - 1))
    listed = [mass for index, mass in enumerate(whole) if index < top or index == chosen]
    found = entropy([log(mass) for mass in listed], min(top, len(whole)))
    right = -sum(mass * log(mass) for mass in whole)
    assert found is not None
    assert -1e-9 <= found <= right + 1e-6
    if len(listed) == len(whole):
        assert found == pytest.approx(right, abs=1e-6)


def test_probability_never_leaves_its_range() -> None:
    assert probability(None) is None
    assert probability(1e-9) == 1
    assert probability(-1.0) == exp(-1.0)


def test_speed_leaves_the_first_tokens_wait_out() -> None:
    run = run_of(choice_of([token_of("a"), token_of("b"), token_of("c")]))
    assert tokens_per_second(run) == pytest.approx(10)
    assert tokens_per_second(run_of(choice_of(["a"]))) is None


def streamed(index: int, first: float, step: float, count: int = 11) -> Choice:
    """A choice whose tokens came at a steady pace."""
    choice = Choice(index)
    for number in range(count):
        choice.append(token_of(f" {number}"), first + number * step)
    return choice


def test_each_choice_has_its_own_speed_and_a_run_that_of_all_together() -> None:
    fast, slow = streamed(0, 1.0, 0.1), streamed(1, 1.0, 0.2)
    run = run_of(fast, slow)
    assert choice_tokens_per_second(fast) == pytest.approx(10)
    assert choice_tokens_per_second(slow) == pytest.approx(5)
    assert tokens_per_second(run) == pytest.approx(21 / 2)
    assert tokens_per_second(run, 4.0) == pytest.approx(21 / 3)


def test_requests_of_a_split_run_do_not_add_up_to_a_speed_that_no_stream_had() -> None:
    run = run_of(*(streamed(index, 0.5, 0.1) for index in range(3)))
    run.split = Split(choices=True)
    assert tokens_per_second(run) == pytest.approx(10)


def test_tokens_of_an_echoed_prompt_are_no_part_of_the_speed() -> None:
    choice = streamed(0, 2.0, 0.1)
    choice.echoed = 5
    assert choice_tokens_per_second(choice) == pytest.approx(10)
    choice.echoed = len(choice)
    assert choice_tokens_per_second(choice) is None


def test_an_answer_that_came_in_one_piece_tells_no_speed() -> None:
    choice = Choice(0)
    for count in range(50):
        choice.append(token_of(str(count)), 2.0 + count / 1e5)
    assert tokens_per_second(run_of(choice)) is None


def test_distinct_is_the_share_of_different_pairs() -> None:
    assert distinct(choice_of(["a", "b", "a", "b", "a"])) == 0.5
    assert distinct(choice_of(["a"])) is None


@pytest.mark.parametrize("odd", [[-1.7e308, -1.7e308], [inf, -inf], [1e308, 1e308, -1.0]])
def test_numbers_that_no_model_gives_break_no_figure(odd: list[float]) -> None:
    choice = choice_of([ReceivedToken("a", logprob) for logprob in odd])
    assert mean_logprob(odd) is not None
    assert perplexity(odd) is not None
    assert bits_per_byte(choice, range(len(odd))) is not None
    assert Passage.answer_of(choice).surprisal(range(len(odd))) != 0
