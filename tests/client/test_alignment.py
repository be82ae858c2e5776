"""Pieces always join to the text, and tell as much of its tokens as is certain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.client.alignment import align
from workbench.client.spelling import read_name, respelled
from workbench.domain.choice import Alternative, Piece

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ENTRIES = st.lists(
    st.builds(
        Piece,
        TEXTS | st.sampled_from(["token_id:5", "Ġa", "▁a", "<0x0A>", "\\xe2", ""]),
        st.floats(-9, 0),
        st.just(()),
        st.none(),
        st.none() | st.binary(min_size=1, max_size=3),
    ),
    max_size=6,
)


def entry(name: str, raw: bytes | None = None) -> Piece:
    return Piece(name, -1.0, (), None, raw)


def parts(pieces: list[Piece]) -> list[tuple[str, bytes | None]]:
    return [(one.text, one.raw) for one in pieces]


@given(TEXTS, ENTRIES, st.binary(max_size=3))
def test_pieces_always_join_to_the_text_and_no_token_is_lost(
    text: str, entries: list[Piece], begun: bytes
) -> None:
    pieces, _ = align(text, entries, begun)
    assert "".join(one.text for one in pieces) == text
    assert [one.logprob for one in pieces if one.logprob is not None] == [one.logprob for one in entries]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1))
def test_tokens_that_make_the_text_are_its_pieces(tokens: list[str]) -> None:
    pieces, begun = align("".join(tokens), [entry(token) for token in tokens])
    assert parts(pieces) == [(token, None) for token in tokens]
    assert begun == b""


@given(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.lists(st.integers(0, 99), max_size=9)
)
def test_byte_tokens_cut_anywhere_carry_their_characters_in_the_last_of_them(
    text: str, cuts: list[int]
) -> None:
    data = text.encode()
    places = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    raws = [data[a:b] for a, b in zip(places, places[1:], strict=False)]  # noqa: RUF007
    entries = [entry(*_named(raw)) for raw in raws]
    pieces, _ = align(text, entries)
    assert "".join(one.text for one in pieces) == text
    assert [one.raw if one.raw is not None else one.text.encode() for one in pieces] == raws


def _named(raw: bytes) -> tuple[str, bytes | None]:
    try:
        return raw.decode(), None
    except UnicodeDecodeError:
        return "", raw


def test_a_character_begun_in_one_chunk_is_ended_in_the_next() -> None:
    first, begun = align("", [entry("", b"\xe2\x80")])
    assert parts(first) == [("", b"\xe2\x80")]
    assert begun == b"\xe2\x80"
    second, begun = align("’s", [entry("", b"\x99"), entry("s")], begun)
    assert parts(second) == [("’", b"\x99"), ("s", None)]
    assert begun == b""


def test_a_token_that_is_not_in_the_text_adds_none_and_keeps_its_bytes() -> None:
    pieces, _ = align("ab", [entry("a"), entry("<eos>"), entry("b")])
    assert parts(pieces) == [("a", None), ("", b"<eos>"), ("b", None)]


def test_text_without_a_token_is_a_piece_without_a_logprob() -> None:
    pieces, _ = align("abc", [entry("a"), entry("b")])
    assert parts(pieces) == [("a", None), ("b", None), ("c", None)]
    assert pieces[-1].logprob is None


def test_a_token_cut_by_a_stop_text_keeps_its_bytes() -> None:
    pieces, _ = align("a b", [entry("a"), entry(" b7")])
    assert parts(pieces) == [("a", None), (" b", b" b7")]


def test_text_held_back_before_the_last_token_has_no_logprob() -> None:
    pieces, _ = align("one two", [entry(" two")])
    assert parts(pieces) == [("one", None), (" two", None)]
    assert [one.logprob for one in pieces] == [None, -1.0]


def test_text_held_back_before_several_tokens_has_no_logprob() -> None:
    pieces, _ = align("one two!", [entry(" two"), entry("!")])
    assert parts(pieces) == [("one", None), (" two", None), ("!", None)]
    assert [one.logprob for one in pieces] == [None, -1.0, -1.0]


def test_a_character_that_was_begun_but_does_not_come_is_given_up() -> None:
    pieces, _ = align("x", [entry("x")], b"\xe2")
    assert parts(pieces) == [("x", None)]


def test_a_single_placeholder_takes_the_text() -> None:
    text, token_id, raw = read_name("token_id:264")
    pieces, _ = align(" a", [Piece(text, -1.0, (), token_id, raw)])
    assert (pieces[0].text, pieces[0].id) == (" a", 264)


@pytest.mark.parametrize(
    ("name", "raw"),
    [("Ġfoo", b" foo"), ("▁foo", b" foo"), ("Ċ", b"\n"), ("<0x0A>", b"\n"), (r"\xf0\x9f", b"\xf0\x9f")],
)
def test_other_spellings_are_understood(name: str, raw: bytes) -> None:
    assert raw in respelled(name)


def test_marks_of_a_vocabulary_are_read_in_the_alternatives_too() -> None:
    told = Piece("Ġfoo", -1.0, (Alternative("Ġfoo", -1.0), Alternative("Ġbar", -2.0)))
    pieces, _ = align(" foo.", [told, entry(".")])
    assert parts(pieces) == [(" foo", None), (".", None)]
    assert [one.text for one in pieces[0].alternatives] == [" foo", " bar"]


def test_a_vocabulary_that_begins_with_a_space_aligns_with_a_text_that_does_not() -> None:
    pieces, _ = align("Hello you", [entry("▁Hello"), entry("▁you")])
    assert parts(pieces) == [("Hello", b" Hello"), (" you", None)]
