"""Choices beside each other: equal ones together, the likeliest marked, forks where they part."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.domain.builders import choice_of, token_of
from workbench.domain.choice import Choice
from workbench.domain.divergence import common_prefix
from workbench.domain.run_choices import answers_of, best_choice


def _choices(*texts: str) -> list[Choice]:
    return [choice_of(list(text), index) for index, text in enumerate(texts)]


def test_equal_answers_are_one_with_all_their_choices() -> None:
    answers = answers_of(_choices("ab", "ac", "ab"))
    assert [[choice.index for choice in answer.choices] for answer in answers] == [[0, 2], [1]]


def test_answers_part_where_another_goes_on_otherwise_or_has_ended() -> None:
    assert [answer.forks for answer in answers_of(_choices("abcd", "abce", "ax", "ab"))] == [
        ((1, (2,)), (2, (3,)), (3, (1,))),
        ((1, (2,)), (2, (3,)), (3, (0,))),
        ((1, (0, 1, 3)),),
        ((1, (2,)), (2, (0, 1))),
    ]


def test_the_only_answer_parts_from_nothing_and_is_no_best_one() -> None:
    (answer,) = answers_of(_choices("ab", "ab"))
    assert (answer.forks, answer.is_best, answer.shared) == ((), False, 0)


def test_the_best_answer_has_the_highest_mean_logprob() -> None:
    short = choice_of([token_of("a", 0.4)], 0)
    long = choice_of([token_of("b", 0.9), token_of("c", 0.5), token_of("d", 0.5)], 1)
    assert best_choice([short, long]) is long
    assert [answer.is_best for answer in answers_of([short, long])] == [False, True]
    assert best_choice(_choices("a", "b")) is None


def test_an_echoed_prompt_is_no_part_of_what_is_compared() -> None:
    choices = _choices("Pab", "Pac")
    for choice in choices:
        choice.echoed = 1
    assert [answer.forks for answer in answers_of(choices)] == [((2, (1,)),), ((2, (0,)),)]


@given(st.lists(st.text("ab", max_size=6), min_size=1, max_size=6))
def test_forks_are_the_prefixes_shared_with_each_other_answer(texts: list[str]) -> None:
    choices = _choices(*texts)
    for answer in answers_of(choices):
        firsts = [distinct.choice for distinct in answers_of(choices) if distinct is not answer]
        others = {choice.index: choice for choice in firsts if choice.text != answer.choice.text}
        lengths = {index: fork.token for fork in answer.forks for index in fork.others}
        assert lengths == {index: common_prefix([answer.choice, other]) for index, other in others.items()}
