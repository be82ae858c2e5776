"""Two scorings of one text, aligned by characters."""

from __future__ import annotations

from itertools import pairwise
from math import fsum, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.builders import choice_of, token_of
from workbench.domain.choice import Choice, ReceivedToken
from workbench.domain.figures import bits_per_byte
from workbench.domain.scoring import Passage, SecondScoring, align_scorings, common_positions

texts = st.text(alphabet="ab é猫🎉", max_size=24)


def scored(text: str, cuts: set[int], surprisal: float = 1.0) -> Choice:
    """A text as the tokens between some of its bytes, each with the same surprisal."""
    data = text.encode()
    edges = sorted({0, len(data), *(cut for cut in cuts if 0 < cut < len(data))})
    pieces = []
    done = 0
    for start, end in pairwise(edges):
        whole = end
        while whole < len(data) and data[whole] & 0xC0 == 0x80:
            whole -= 1
        added = data[done : max(whole, done)]
        raw = data[start:end]
        pieces.append(ReceivedToken(added.decode(), -surprisal, raw=None if raw == added else raw))
        done += len(added)
    return choice_of(pieces)


@given(texts, st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)))
def test_spans_join_to_the_text_and_to_every_token_of_both(
    text: str, cuts: set[int], other_cuts: set[int]
) -> None:
    first, second = Passage.answer_of(scored(text, cuts)), Passage.answer_of(scored(text, other_cuts, 2.0))
    spans = list(align_scorings(first, second))
    assert "".join(text[span.start : span.end] for span in spans) == text
    assert [index for span in spans for index in span.first] == list(first.tokens)
    assert [index for span in spans for index in span.second] == list(second.tokens)
    for span in spans:
        part = text[span.start : span.end].encode()
        for passage, tokens in ((first, span.first), (second, span.second)):
            assert b"".join(passage.choice.bytes_of(index) for index in tokens) == part
        assert span.surprisals == (len(span.first), 2.0 * len(span.second))
        assert span.difference == span.surprisals[1] - span.surprisals[0]  # type: ignore[operator]


@given(texts, st.sets(st.integers(0, 60)))
def test_a_scoring_aligned_with_itself_differs_nowhere(text: str, cuts: set[int]) -> None:
    passage = Passage.answer_of(scored(text, cuts))
    assert all(span.difference == 0 for span in align_scorings(passage, passage))


def test_spans_with_an_unknown_surprisal_have_no_difference() -> None:
    known = Passage.answer_of(choice_of([ReceivedToken("a", -1.0), ReceivedToken("b", -2.0)]))
    unknown = Passage.answer_of(choice_of([ReceivedToken("a"), ReceivedToken("b", -1.0)]))
    assert [span.difference for span in align_scorings(unknown, known)] == [None, 1.0]


@given(texts, st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)))
def test_every_token_has_the_difference_of_the_span_it_is_in(
    text: str, cuts: set[int], other_cuts: set[int]
) -> None:
    first, second = Passage.answer_of(scored(text, cuts)), Passage.answer_of(scored(text, other_cuts, 2.0))
    beside, back = SecondScoring.of(first, second), SecondScoring.of(second, first)
    for index in first.tokens:
        span = beside.at(index)
        assert span is not None
        assert index in span.first
        assert beside.difference(first.choice, index) == 2.0 * len(span.second) - len(span.first)
    assert [span.difference for span in back.spans] == [-(span.difference or 0) for span in beside.spans]
    assert beside.at(-1) is None
    assert beside.at(len(first.choice)) is None


def test_tokens_that_are_in_no_span_have_no_difference() -> None:
    first = choice_of([ReceivedToken("ab", -1.0), ReceivedToken("c", -1.0), ReceivedToken("d", -1.0)])
    second = choice_of([ReceivedToken("x", -1.0), ReceivedToken("bc", -1.0), ReceivedToken("d", -3.0)])
    second.echoed = 3
    beside = SecondScoring.of(Passage(first, range(1, 3), 0), Passage.prompt_of(second))
    assert [beside.difference(first, index) for index in range(3)] == [None, None, 2.0]


def test_elsewhere_is_the_first_token_of_a_span_that_was_not_the_other_models_top_choice() -> None:
    first = Passage.answer_of(choice_of([token_of("a", 0.5), token_of(" up", 0.5), token_of("on", 0.5), "!"]))
    second = Passage.answer_of(
        choice_of(
            [token_of("a", 0.9, b=0.1), token_of(" u", 0.6, i=0.4), token_of("pon", 0.2, se=0.7, s=0.1), "!"]
        )
    )
    beside = SecondScoring.of(first, second)
    assert [span.first for span in beside.spans] == [range(0, 1), range(1, 3), range(3, 4)]
    assert [span.elsewhere and span.elsewhere.text for span in beside.spans] == [None, "se", None]


@given(st.lists(st.booleans(), max_size=12), st.integers(-1, 12))
def test_going_elsewhere_stops_at_every_such_token_in_order(others: list[bool], begin: int) -> None:
    first = choice_of(["x"] * len(others))
    second = choice_of(
        [token_of("x", 0.2, y=0.8) if other else token_of("x", 0.8, y=0.2) for other in others]
    )
    beside = SecondScoring.of(Passage.answer_of(first), Passage.answer_of(second))
    places = [index for index, other in enumerate(others) if other]
    for step, expected in (
        (1, [index for index in places if index > begin]),
        (-1, [index for index in reversed(places) if index < begin]),
    ):
        went, cursor = [], beside.next_elsewhere(first, begin, step)
        while cursor is not None:
            went.append(cursor)
            cursor = beside.next_elsewhere(first, cursor, step)
        assert went == expected
    assert beside.next_elsewhere(second, begin) is None


def test_spans_as_tokens_have_the_same_differences() -> None:
    first = choice_of([ReceivedToken("a", -1.0), ReceivedToken("bc", -1.0)])
    second = choice_of([ReceivedToken("ab", -4.0), ReceivedToken("c", -1.0)])
    beside = SecondScoring.of(Passage.answer_of(first), Passage.answer_of(second), "other")
    whole = choice_of(["abc"])
    spans = beside.of_spans(whole)
    assert [spans.difference(whole, index) for index in range(2)] == [3.0, None]
    assert spans.difference(first, 0) is None
    assert spans.scorer == "other"


def test_an_answer_is_aligned_with_the_end_of_a_longer_text() -> None:
    answer = Passage.answer_of(choice_of([ReceivedToken(" up", -1.0), ReceivedToken("on", -1.0)]))
    longer = choice_of([ReceivedToken("Once"), ReceivedToken(" upon", -3.0), ReceivedToken(" a", -9.0)])
    longer.echoed = 2
    spans = list(align_scorings(answer, Passage.prompt_of(longer, origin=4)))
    assert [(span.start, span.end, span.difference) for span in spans] == [(0, 5, 1.0)]


def test_positions_are_common_up_to_and_including_the_divergence() -> None:
    first = Passage.answer_of(choice_of(["a", " b", " c", " d"]))
    second = Passage.answer_of(choice_of(["a", " b", " x", " d"]))
    assert list(common_positions(first, second)) == [(0, 0), (1, 1), (2, 2)]


def test_positions_of_other_tokens_are_common_where_both_begin() -> None:
    first = Passage.answer_of(choice_of(["ab", "c", "d"]))
    second = Passage.answer_of(choice_of(["a", "b", "cd"]))
    assert list(common_positions(first, second)) == [(0, 0), (1, 2), (3, 3)]


@given(texts, st.sets(st.integers(0, 60)))
def test_bits_per_byte_are_those_of_all_tokens_over_all_bytes(text: str, cuts: set[int]) -> None:
    choice = scored(text, cuts, 0.5)
    found = bits_per_byte(choice, range(len(choice)))
    size = len(text.encode())
    if not size:
        assert found is None
    else:
        assert found == pytest.approx(fsum([0.5] * len(choice)) / log(2) / size)


def test_a_uniform_model_over_bytes_takes_eight_bits_each() -> None:
    choice = choice_of([ReceivedToken("a"), *(ReceivedToken(text, -log(256)) for text in "bcd")])
    assert bits_per_byte(choice, range(4)) == pytest.approx(8)


def test_nothing_scored_has_no_bits_per_byte() -> None:
    choice = choice_of([ReceivedToken("a")])
    assert bits_per_byte(choice, range(1)) is None
