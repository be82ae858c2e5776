"""Finding stop texts in an answer as it grows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.local.stops import StopMatcher


def feed_all(stops: list[str], pieces: list[str]) -> str:
    matcher = StopMatcher(stops)
    text = ""
    for piece in pieces:
        kept = matcher.feed(piece)
        if kept is not None:
            return text + piece[:kept]
        text += piece
    return text


def test_the_answer_ends_with_the_stop_text() -> None:
    assert feed_all(["END"], ["a ", "b END c"]) == "a b END"


def test_a_stop_text_is_found_across_pieces() -> None:
    assert feed_all(["\n\nQ:"], ["A", "\n", "\n", "Q", ": more"]) == "A\n\nQ:"


def test_of_several_stop_texts_the_one_that_ends_first_counts() -> None:
    assert feed_all(["abcd", "bc"], ["abcd"]) == "abc"


def test_without_stop_texts_nothing_ends() -> None:
    assert feed_all([], ["a", "b"]) == "ab"


@given(
    st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=4),
    st.lists(st.text("ab", min_size=1, max_size=3), max_size=12),
)
def test_pieces_never_change_where_an_answer_ends(stops: list[str], pieces: list[str]) -> None:
    whole = "".join(pieces)
    ends = [at + len(stop) for stop in stops if (at := whole.find(stop)) >= 0]
    assert feed_all(stops, pieces) == (whole[: min(ends)] if ends else whole)
