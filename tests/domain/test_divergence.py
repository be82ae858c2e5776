"""Where completions part, and what tells their parameters apart."""

from __future__ import annotations

from math import exp

from tests.domain.builders import choice_of, token_of
from workbench.domain.choice import Alternative, ReceivedToken
from workbench.domain.divergence import (
    common_prefix,
    distinguishing,
    equal_groups,
    first_divergence,
    margin,
)
from workbench.domain.parameters import Parameters


def test_the_common_prefix_ends_at_the_first_token_that_differs() -> None:
    assert common_prefix([choice_of(["a", "b", "c"]), choice_of(["a", "b", "d"])]) == 2


def test_a_divergence_holds_each_choices_token() -> None:
    parted = first_divergence([choice_of(["a", "b"]), choice_of(["a", "c"])])
    assert parted is not None
    assert parted.position == 1
    assert [token and token.text for token in parted.tokens] == ["b", "c"]


def test_a_choice_that_ended_earlier_differs_there() -> None:
    parted = first_divergence([choice_of(["a"]), choice_of(["a", "c"])])
    assert parted is not None
    assert parted.tokens[0] is None


def test_a_choice_that_still_streams_does_not_differ_by_being_shorter() -> None:
    assert first_divergence([choice_of(["a"], finish_reason=None), choice_of(["a", "c"])]) is None


def test_equal_choices_have_no_divergence() -> None:
    assert first_divergence([choice_of(["a"]), choice_of(["a"])]) is None


def test_titles_name_only_what_differs() -> None:
    first = Parameters({"temperature": 0.2, "top_p": 0.5})
    other = Parameters({"temperature": 1.0, "top_p": 0.5, "min_p": 0.05})
    assert distinguishing([first, other]) == (
        ("temperature 0.2", "min_p unset"),
        ("temperature 1", "min_p 0.05"),
    )


def test_equal_texts_are_one_group() -> None:
    groups = equal_groups([choice_of(["a"], 0), choice_of(["b"], 1), choice_of(["a"], 2)])
    assert [[choice.index for choice in group] for group in groups] == [[0, 2], [1]]


def test_the_margin_is_the_distance_of_the_two_likeliest() -> None:
    closeness = margin(choice_of([token_of("a", 0.5, b=0.3, c=0.1)]).token(0))
    assert closeness is not None
    assert abs(closeness - 0.2) < 1e-9


def test_the_margin_of_numbers_that_are_no_logprobs_is_one_all_the_same() -> None:
    listed = (Alternative("a", 1000.0), Alternative("b", -1.0))
    token = choice_of([ReceivedToken("a", 1000.0, listed)]).token(0)
    assert margin(token) == 1 - exp(-1.0)
