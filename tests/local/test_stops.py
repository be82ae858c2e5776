"""Finding stop sequences in streamed text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.local.stops import StopMatcher


def feed_all(stops: list[str], tokens: list[str]) -> tuple[str, str]:
    """The text with its stop sequence, and without."""
    matcher = StopMatcher(stops)
    text = ""
    for token in tokens:
        match = matcher.feed(token)
        if match is not None:
            text += token[: match.end]
            return text, text[: -match.length]
        text += token
        assert any(stop.startswith(text[len(text) - matcher.partial :]) for stop in (*stops, ""))
    return text, text


def test_the_answer_ends_with_the_stop_text() -> None:
    assert feed_all(["END"], ["a ", "b END c"]) == ("a b END", "a b ")


def test_a_stop_text_is_found_across_tokens() -> None:
    assert feed_all(["\n\nQ:"], ["A", "\n", "\n", "Q", ": more"]) == ("A\n\nQ:", "A")


def test_of_several_stop_texts_the_one_that_ends_first_counts() -> None:
    assert feed_all(["abcd", "bc"], ["abcd"]) == ("abc", "a")


def test_of_stop_texts_that_end_together_the_longest_is_cut_off() -> None:
    assert feed_all(["d", "bcd", "cd"], ["ab", "cd"]) == ("abcd", "a")


def test_without_stop_texts_nothing_ends() -> None:
    assert feed_all([], ["a", "b"]) == ("ab", "ab")


@given(
    st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=4),
    st.lists(st.text("ab", min_size=1, max_size=3), max_size=12),
)
def test_how_a_text_is_cut_into_tokens_never_changes_where_it_ends(
    stops: list[str], tokens: list[str]
) -> None:
    whole = "".join(tokens)
    ends = [(at + len(stop), at) for stop in stops if (at := whole.find(stop)) >= 0]
    end, start = min(ends, default=(len(whole), len(whole)))
    assert feed_all(stops, tokens) == (whole[:end], whole[:start])
