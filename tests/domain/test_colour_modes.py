"""Levels of surprise in each mode, and the way to the next notable token."""

from math import exp, inf, isnan, log, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.choice import Alternative, Choice, ReceivedToken
from workbench.domain.colour_modes import FIXED, Mode, difference_level, fitted, legend, level, shade, widest
from workbench.domain.figures import logprob_ceilings
from workbench.domain.notable_tokens import Thresholds
from workbench.domain.parameter_table import ParameterValue
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.domain.scoring import Passage, SecondScoring


def choice_of(*pieces: ReceivedToken) -> Choice:
    choice = Choice(0)
    for token in pieces:
        choice.append(token, 0.1)
    return choice


def with_probability(probability: float) -> ReceivedToken:
    return ReceivedToken("x", log(probability), (Alternative("x", log(probability)),))


@pytest.mark.parametrize(
    ("probability", "expected"),
    [(1.0, 0), (0.9, 0), (0.89, 1), (0.6, 1), (0.59, 2), (0.3, 2), (0.29, 3), (0.1, 3), (0.09, 4)],
)
def test_probability_has_five_levels_that_include_their_lower_edge(probability: float, expected: int) -> None:
    assert level(choice_of(with_probability(probability)), 0, Mode.PROBABILITY) == expected


@pytest.mark.parametrize(("nats", "expected"), [(0.0, 0), (0.5, 0), (0.9, 1), (2.0, 2), (3.9, 3), (9.0, 4)])
def test_surprisal_has_five_levels_in_nats(nats: float, expected: int) -> None:
    assert level(choice_of(ReceivedToken("x", -nats)), 0, Mode.SURPRISAL) == expected


def test_entropy_is_that_of_the_alternatives_with_the_rest_as_one() -> None:
    even = ReceivedToken("a", log(0.25), tuple(Alternative(text, log(0.25)) for text in "abcd"))
    choice = choice_of(with_probability(0.999), even)
    assert level(choice, 0, Mode.ENTROPY) == 0
    assert level(choice, 1, Mode.ENTROPY) == 2


@pytest.mark.parametrize(
    ("nats", "expected"),
    [(-9, 0), (-2, 1), (-0.6, 1), (-0.5, 2), (0, 2), (0.5, 2), (0.6, 3), (2, 3), (2.1, 4), (inf, 4)],
)
def test_differences_have_levels_by_their_size_and_sign(nats: float, expected: int) -> None:
    assert difference_level(nats) == expected
    assert difference_level(-nats) == 4 - expected


def test_the_level_of_a_difference_is_of_the_choice_that_was_scored_twice() -> None:
    first, other = choice_of(ReceivedToken("x", -1.0)), choice_of(ReceivedToken("x", -4.0))
    second = SecondScoring.of(Passage.answer_of(first), Passage.answer_of(other))
    assert level(first, 0, Mode.DIFFERENCE, second=second) == 4
    assert level(other, 0, Mode.DIFFERENCE, second=second) is None


def test_an_unknown_difference_has_no_level() -> None:
    assert difference_level(None) is None
    assert difference_level(nan) is None


def test_the_mode_of_differences_comes_only_where_there_is_a_second_scoring() -> None:
    once, twice = [Mode.FITTED], [Mode.FITTED]
    for _ in Mode:
        once.append(once[-1].next())
        twice.append(twice[-1].next(is_scored_twice=True))
    assert Mode.DIFFERENCE not in once
    assert twice[:-1] == list(Mode)


def test_rank_counts_the_alternatives_that_were_more_probable() -> None:
    listed = (Alternative("a", -0.5), Alternative("b", -1.5), Alternative("c", -2.5))
    choice = choice_of(
        ReceivedToken("a", -0.5, listed), ReceivedToken("b", -1.5, listed), ReceivedToken("z", -9.0, listed)
    )
    assert [level(choice, index, Mode.RANK) for index in range(3)] == [0, 1, 4]


def test_a_token_that_is_listed_beside_the_most_likely_ones_has_the_level_of_the_unlisted() -> None:
    top = (Alternative("a", -0.5), Alternative("b", -1.5))
    choice = choice_of(
        ReceivedToken("a", -0.5, top), ReceivedToken("z", -9.0, (*top, Alternative("z", -9.0)))
    )
    assert level(choice, 1, Mode.RANK) == 4
    assert Thresholds().next("not_first", choice, 0) == 1


def test_a_flat_distribution_reaches_the_highest_level_of_entropy_however_few_are_listed() -> None:
    flat = ReceivedToken("a", log(0.002), tuple(Alternative(text, log(0.002)) for text in "abcde"))
    assert level(choice_of(flat), 0, Mode.ENTROPY) == 4


def test_what_is_not_known_has_no_level() -> None:
    choice = choice_of(ReceivedToken("x"))
    assert [level(choice, 0, mode) for mode in Mode] == [None] * len(Mode)
    assert choice.rank_of(0) is None


def test_no_colour_has_no_levels() -> None:
    assert level(choice_of(with_probability(0.5)), 0, Mode.OFF) is None


def test_every_mode_has_a_legend_of_five() -> None:
    assert all(len(legend(mode)) == 5 for mode in Mode)
    assert legend(Mode.PROBABILITY) == ("≥90%", "60%", "30%", "10%", "<10%")


@pytest.mark.parametrize(
    ("values", "expected", "fitted_to"),
    [
        ({"temperature": 0}, ("≥90%", "60%", "30%", "10%", "<10%"), "temperature 0"),
        ({}, ("≥73%", "22%", "3%", "0.1%", "<0.1%"), "temperature 1"),
        (
            {"temperature": 0.7, "top_p": 0.9},
            ("≥85%", "47%", "17%", "3%", "<3%"),
            "temperature 0.7 top_p 0.9",
        ),
        ({"temperature": 0.7, "top_p": 1.0}, ("≥81%", "36%", "9%", "1%", "<1%"), "temperature 0.7"),
        ({"top_k": 20}, ("≥81%", "36%", "9%", "1%", "<1%"), "temperature 1 top_k 20"),
    ],
)
def test_a_fitted_scale_follows_what_the_parameters_make_likely(
    values: dict[str, ParameterValue], expected: tuple[str, ...], fitted_to: str
) -> None:
    scale = fitted(Parameters(values))
    assert legend(Mode.FITTED, scale) == legend(Mode.CONTINUOUS, scale) == expected
    assert legend(Mode.PROBABILITY, scale) == ("≥90%", "60%", "30%", "10%", "<10%")
    assert scale.fitted_to == fitted_to


def test_answers_beside_each_other_share_the_widest_scale() -> None:
    cold, hot = (fitted(Parameters({"temperature": value})) for value in (0.2, 1.2))
    assert widest([cold, hot]) == hot
    assert widest([]) == FIXED


@given(st.floats(0, 2), st.floats(0.001, 1))
def test_what_is_at_a_level_on_the_fixed_scale_is_at_no_higher_one_on_a_fitted(
    temperature: float, probability: float
) -> None:
    choice, scale = choice_of(with_probability(probability)), fitted(Parameters({"temperature": temperature}))
    fixed, own = (level(choice, 0, mode, scale) for mode in (Mode.PROBABILITY, Mode.FITTED))
    assert fixed is not None and own is not None and own <= fixed
    ink = shade(choice, 0, scale)
    assert (
        ink is not None
        and 0 <= ink <= 1
        and (ink == 1) == (own == 4 or probability == pytest.approx(exp(-scale.edges[-1])))
    )


def test_surprising_tokens_are_found_in_both_directions_and_past_unknown_ones() -> None:
    choice = choice_of(
        ReceivedToken("a", -5.0), ReceivedToken("b", -0.1), ReceivedToken("c"), ReceivedToken("d", -3.0)
    )
    assert Thresholds().next("surprising", choice, -1) == 0
    assert Thresholds().next("surprising", choice, 0) == 3
    assert Thresholds().next("surprising", choice, 3) is None
    assert Thresholds().next("surprising", choice, 3, -1) == 0
    assert Thresholds(surprising=10).next("surprising", choice, -1) is None


def test_tokens_that_were_not_the_first_choice_are_found() -> None:
    listed = (Alternative("a", -0.5), Alternative("b", -1.5))
    choice = choice_of(
        ReceivedToken("a", -0.5, listed), ReceivedToken("b", -1.5, listed), ReceivedToken("?", None)
    )
    assert Thresholds().next("not_first", choice, -1) == 1
    assert Thresholds().next("not_first", choice, 1) is None


def test_tokens_whose_alternatives_cover_little_are_found() -> None:
    choice = choice_of(with_probability(0.9), ReceivedToken("x", -1.0), with_probability(0.2))
    assert Thresholds().next("low_coverage", choice, -1) == 2
    assert Thresholds(low_coverage=0.1).next("low_coverage", choice, -1) is None


@pytest.mark.parametrize("temperature", [1e200, 10**300])
def test_under_a_temperature_out_of_all_ranges_nothing_is_surprising(temperature: float) -> None:
    scale = fitted(Parameters({"temperature": temperature, "top_k": 10**300}))
    assert scale.edges[0] == inf
    assert level(choice_of(with_probability(0.01)), 0, Mode.FITTED, scale) == 0
    assert legend(Mode.FITTED, scale)


def test_a_run_that_requested_fewer_than_no_alternatives_has_entropies_all_the_same() -> None:
    choice = Run(Request(TextPrompt("Hi"), parameters=Parameters({"logprobs": -3}))).choice(0)
    choice.append(ReceivedToken("a", None, [Alternative("a", -0.1), Alternative("b", -3.0)]), 0.0)
    assert level(choice, 0, Mode.ENTROPY) is not None
    assert isnan(logprob_ceilings(choice, range(1))[0])
