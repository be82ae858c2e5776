"""The answer's choices in the contract's shape."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from tests.local.fakes import chunk, end, tokens
from workbench.local.answer import ChoiceBuilder, Piece, logprobs_json, mean_logprob, rank, usage_json
from workbench.local.engine import Candidate, Chunk
from workbench.local.stops import StopMatcher


def builder(
    logprobs: int | None = 2, stops: tuple[str, ...] = (), includes_stop: bool = True
) -> ChoiceBuilder:
    return ChoiceBuilder(logprobs, StopMatcher(stops), lambda token: f"<{token}>", includes_stop)


def test_the_taken_token_is_an_extra_row_where_it_is_not_among_the_likeliest() -> None:
    (piece,) = builder(2).take(chunk(" d", 1, -5.0, {" a": -0.5, " b": -1.0}))
    assert piece == Piece(" d", -5.0, ((" a", -0.5), (" b", -1.0), (" d", -5.0)))


def test_no_alternatives_asked_for_gives_the_taken_token_only() -> None:
    (piece,) = builder(0).take(chunk(" a", 1, -0.5, {" a": -0.5}))
    assert piece.top == ((" a", -0.5),)


def test_logprobs_not_asked_for_give_no_rows_but_still_rank() -> None:
    (piece,) = builder(None).take(chunk(" a", 1, -0.5))
    assert piece == Piece(" a", -0.5)


def test_a_character_spread_over_tokens_is_one_piece_without_a_logprob() -> None:
    made = builder(2)
    made.take(chunk("a", 1))
    last = Candidate(168, b"\xa8", -2.5)
    (piece,) = made.take(Chunk("👨", 4, last, (Candidate(169, b"\xa9", -0.3), last)))
    assert piece == Piece("👨", None, (("bytes:\\xa9", -0.3), ("bytes:\\xa8", -2.5), ("👨", None)))
    assert made.made == 4


def test_a_token_after_a_group_has_its_own_logprob() -> None:
    made = builder(0)
    made.take(Chunk("é", 2, Candidate(7, b"\xa9", -0.3)))
    assert made.take(chunk("b", 3, -0.5))[0].logprob == -0.5


def test_tokens_without_text_are_keyed_by_name() -> None:
    (piece,) = builder(2).take(Chunk("a", 1, Candidate(5, b"a", -1.0), (Candidate(2, b"", -0.5),)))
    assert piece.top == (("<2>", -0.5), ("a", -1.0))


def test_two_tokens_of_one_text_keep_a_row_each() -> None:
    twin = Candidate(6, b"a", -2.0)
    (piece,) = builder(2).take(Chunk("a", 1, Candidate(5, b"a", -1.0), (Candidate(5, b"a", -1.0), twin)))
    assert piece.top == (("a", -1.0), ("bytes:\\x61", -2.0))


def test_a_token_that_reaches_beyond_the_stop_text_is_cut() -> None:
    made = builder(1, ("en",))
    assert made.take(chunk("th", 1))[0].text == "th"
    assert made.take(chunk("ends", 2))[0].text == "en"
    assert (made.text, made.finish_reason) == ("then", "stop")
    assert made.take(chunk("x", 3)) == []


def test_an_unwanted_stop_text_is_held_back_until_it_is_sure_not_to_be_one() -> None:
    made = builder(1, ("\n\nQ:",), includes_stop=False)
    sent = [
        [piece.text for piece in made.take(chunk(text, place))]
        for place, text in enumerate(["a.", "\n", "b", "c\n", "\nQ", ": d"], 1)
    ]
    assert sent == [["a."], [], ["\n", "b"], [], [], ["c"]]
    assert made.pieces[-1] == Piece("c", -1.0, (("c", -1.0),))
    assert (made.text, made.finish_reason, made.made) == ("a.\nbc", "stop", 6)


def test_what_was_held_back_is_sent_where_an_answer_ends_without_its_stop_text() -> None:
    made = builder(None, ("ab",), includes_stop=False)
    assert made.take(chunk("xa", 1)) == []
    assert [piece.text for piece in made.take(end(1))] == ["xa"]


def test_an_answer_that_is_nothing_but_its_stop_text_is_empty() -> None:
    made = builder(1, ("ab",), includes_stop=False)
    assert [made.take(chunk(text, place)) for place, text in enumerate("ab", 1)] == [[], []]
    assert (made.text, made.finish_reason) == ("", "stop")


@given(
    st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=4),
    st.lists(st.text("ab", max_size=3), max_size=12),
)
def test_without_its_stop_text_an_answer_is_the_same_however_it_is_cut_into_tokens(
    stops: list[str], texts: list[str]
) -> None:
    made = builder(0, tuple(stops), includes_stop=False)
    for event in tokens(texts):
        made.take(event)
    whole = "".join(texts)
    _, start = min(
        ((at + len(stop), at) for stop in stops if (at := whole.find(stop)) >= 0),
        default=(0, len(whole)),
    )
    assert made.text == whole[:start]
    assert all(piece.top == ((piece.text, -1.0),) for piece in made.pieces)


def test_a_progress_event_adds_nothing() -> None:
    made = builder()
    assert made.take(Chunk()) == []
    assert made.take(end(0, "stop")) == []
    assert made.finish_reason == "stop"


def test_tokens_join_to_the_text_and_offsets_count_characters() -> None:
    pieces = [Piece("a👨", -1.0, (("a👨", -1.0),)), Piece("", -2.0), Piece("b", None)]
    assert logprobs_json(pieces, 10) == {
        "tokens": ["a👨", "", "b"],
        "token_logprobs": [-1.0, -2.0, None],
        "top_logprobs": [{"a👨": -1.0}, {}, {}],
        "text_offset": [10, 12, 12],
    }


def test_the_mean_leaves_out_what_has_no_logprob() -> None:
    assert mean_logprob([Piece("a", -1.0), Piece("b"), Piece("c", -2.0)]) == -1.5
    assert mean_logprob([Piece("b")]) == -math.inf


def test_candidates_are_ranked_by_mean_logprob_and_equals_keep_their_order() -> None:
    low, high = [Piece("a", -3.0)], [Piece("b", -0.5), Piece("c", -0.5)]
    assert rank([low, high, [], high], 3) == [1, 3, 0]


def test_usage_adds_up() -> None:
    assert usage_json(3, 4) == {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
