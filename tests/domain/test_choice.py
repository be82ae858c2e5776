"""A choice as a growing store of token columns."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.choice import Alternative, Choice, Rank, ReceivedToken, Token

numbers = st.none() | st.floats(-50, 0)
ids = st.none() | st.integers(0, 2**40)
raws = st.none() | st.binary(max_size=4)
alternatives = st.lists(st.builds(Alternative, st.text(max_size=3), numbers, ids, raws), max_size=3).map(
    tuple
)
pieces = st.lists(st.builds(ReceivedToken, st.text(max_size=4), numbers, alternatives, ids, raws), max_size=8)


def stored(pieces: Sequence[ReceivedToken]) -> Choice:
    choice = Choice(0)
    for index, received in enumerate(pieces):
        choice.append(received, index / 10)
    return choice


@given(pieces)
def test_every_token_is_read_back_as_it_was_stored(pieces: list[ReceivedToken]) -> None:
    choice = stored(pieces)
    assert [
        ReceivedToken(kept.text, kept.logprob, kept.alternatives, kept.id, kept.raw) for kept in choice
    ] == pieces
    assert [kept.at for kept in choice] == [index / 10 for index in range(len(pieces))]


@given(pieces)
def test_the_texts_of_the_tokens_join_to_the_text(pieces: list[ReceivedToken]) -> None:
    choice = stored(pieces)
    assert choice.text == "".join(received.text for received in pieces)
    assert choice.length == len(choice.text)
    assert all(choice.text[each.start :].startswith(each.text) for each in choice)


@given(pieces, pieces)
def test_columns_extend_a_choice_by_exactly_what_they_were_taken_from(
    first: list[ReceivedToken], then: list[ReceivedToken]
) -> None:
    choice = stored(first)
    choice.extend(stored(then).columns())
    whole = stored(first + then)
    assert [each._replace(at=0) for each in choice] == [each._replace(at=0) for each in whole]
    assert choice.text == whole.text


@given(pieces, st.integers(0, 8))
def test_columns_from_a_token_on_are_the_tail(pieces: list[ReceivedToken], start: int) -> None:
    start = min(start, len(pieces))
    tail = Choice(0)
    tail.extend(stored(pieces).columns(start))
    expected = stored(pieces[start:])
    assert [each._replace(at=0) for each in tail] == [each._replace(at=0) for each in expected]


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="unequal length"):
        Choice(0).extend(Choice(0).columns()._replace(texts=["a"]))


def test_tokens_are_found_by_the_character_that_they_complete() -> None:
    choice = stored([ReceivedToken("ab"), ReceivedToken(""), ReceivedToken("c")])
    assert [choice.token_at(offset) for offset in range(3)] == [0, 0, 2]


def test_replacing_tokens_tells_readers_to_begin_again() -> None:
    choice = stored([ReceivedToken("a")])
    choice.replace([ReceivedToken("b", -1.0), ReceivedToken("c")], [0.1, 0.2])
    assert (choice.text, choice.revision, list(choice.at)) == ("bc", 1, [0.1, 0.2])
    assert isnan(choice.logprobs[1])


def token(logprob: float | None, *listed: Alternative, id: int | None = None, text: str = "a") -> Token:
    return Token(0, 0, text, logprob, 0, id, None, listed)


def ranked(logprob: float | None, *listed: float, top: int | None = None) -> Rank | None:
    choice = Choice(0, top)
    choice.append(ReceivedToken("a", logprob, [Alternative("?", value) for value in listed]), 0.1)
    assert choice.token(0).rank == choice.rank_of(0)
    return choice.rank_of(0)


def test_rank_counts_the_likelier_alternatives() -> None:
    assert ranked(-1.0, -1.0, -2.0) == Rank(1, True)
    assert ranked(-2.0, -1.0, -2.0) == Rank(2, True)
    assert ranked(-2.0) is None
    assert ranked(None, -1.0) is None


def test_a_rank_that_the_listed_alternatives_do_not_reach_down_to_is_a_bound() -> None:
    assert ranked(-5.0, -1.0, -2.0) == Rank(3, False)
    # The chosen token listed beside the two that were requested.
    assert ranked(-5.0, -1.0, -2.0, -5.0, top=2) == Rank(3, False)
    assert str(ranked(-5.0, -1.0, -2.0, -5.0, top=2)) == "> 2"
    assert str(ranked(-2.0, -1.0, -2.0, -5.0, top=2)) == "2"
    # Nothing but the chosen token was requested.
    assert ranked(-5.0, -5.0, top=0) is None


def test_fewer_alternatives_than_requested_are_seen_by_those_of_the_other_tokens() -> None:
    choice = Choice(0, 20)
    for listed in ((-1.0, -2.0), (-1.0, -2.0, -5.0)):
        choice.append(ReceivedToken("a", listed[-1], [Alternative("?", value) for value in listed]), 0.1)
    assert [choice.rank_of(index) for index in range(2)] == [Rank(2, True), Rank(3, False)]
    stored = Choice(0, 20)
    stored.extend(choice.columns())
    assert stored.rank_of(1) == Rank(3, False)


@given(st.lists(st.floats(-20, 0), min_size=1, max_size=12), st.integers(0, 5), st.data())
def test_a_rank_is_never_wrong_about_the_whole_distribution(
    logprobs: list[float], top: int, data: st.DataObject
) -> None:
    own = data.draw(st.sampled_from(logprobs))
    listed = sorted(logprobs, reverse=True)[:top]
    found = ranked(own, *listed, *([own] if own not in listed else []), top=top)
    right = 1 + sum(other > own for other in logprobs)
    if found is not None:
        assert found.value == right if found.is_exact else found.value <= right
    if right <= top:
        assert found == Rank(right, True)


def test_a_token_is_listed_by_its_id_or_by_its_text() -> None:
    assert token(-1.0, Alternative("a", -1.0)).listed_at is not None
    assert token(-1.0, Alternative("x", -1.0, 7), id=7).listed_at is not None
    assert token(-1.0, Alternative("a", -1.0, 8), id=7).listed_at is None
    assert token(-1.0, Alternative("b", -1.0)).listed_at is None


def test_of_several_alternatives_with_its_text_the_token_is_the_one_whose_logprob_is_nearest() -> None:
    same = [Alternative("a", -3.0), Alternative("b", -1.0), Alternative("a", -1.1)]
    assert token(-1.0, *same).listed_at == 2
