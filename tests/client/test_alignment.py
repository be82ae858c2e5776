"""Pieces always join to the text, and tell as much of its tokens as is certain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.client.alignment import align
from workbench.client.byte_encoding import Encoding, decode, read_name
from workbench.domain.choice import Alternative, ReceivedToken

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ENTRIES = st.lists(
    st.builds(
        ReceivedToken,
        TEXTS | st.sampled_from(["token_id:5", "Ġa", "▁a", "<0x0A>", "\\xe2", ""]),
        st.floats(-9, 0),
        st.just(()),
        st.none(),
        st.none() | st.binary(min_size=1, max_size=3),
    ),
    max_size=6,
)


def entry(name: str, raw: bytes | None = None) -> ReceivedToken:
    return ReceivedToken(name, -1.0, (), None, raw)


def parts(pieces: list[ReceivedToken]) -> list[tuple[str, bytes | None]]:
    return [(token.text, token.raw) for token in pieces]


@given(TEXTS, ENTRIES, st.binary(max_size=3))
def test_pieces_always_join_to_the_text_and_no_token_is_lost_but_those_of_another_text(
    text: str, entries: list[ReceivedToken], incomplete: bytes
) -> None:
    pieces, *_, is_off = align(text, entries, incomplete)
    assert "".join(token.text for token in pieces) == text
    kept = [token.logprob for token in pieces if token.logprob is not None]
    if not is_off:
        assert kept == [each.logprob for each in entries]
    else:
        listed = iter(each.logprob for each in entries)
        assert all(logprob in listed for logprob in kept)
        # Only where text is left that no token is listed for.
        assert pieces[-1].logprob is None
        assert pieces[-1].text


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1))
def test_tokens_that_make_the_text_are_its_pieces(tokens: list[str]) -> None:
    pieces, incomplete, *_ = align("".join(tokens), [entry(token) for token in tokens])
    assert parts(pieces) == [(token, None) for token in tokens]
    assert incomplete == b""


@given(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.lists(st.integers(0, 99), max_size=9)
)
def test_byte_tokens_cut_anywhere_carry_their_characters_in_the_last_of_them(
    text: str, cuts: list[int]
) -> None:
    data = text.encode()
    bounds = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    raws = [data[a:b] for a, b in zip(bounds, bounds[1:], strict=False)]  # noqa: RUF007
    entries = [entry(*_named(raw)) for raw in raws]
    pieces, _, *_ = align(text, entries)
    assert "".join(token.text for token in pieces) == text
    assert [token.raw if token.raw is not None else token.text.encode() for token in pieces] == raws


def _named(raw: bytes) -> tuple[str, bytes | None]:
    try:
        return raw.decode(), None
    except UnicodeDecodeError:
        return "", raw


def test_a_character_begun_in_one_chunk_is_ended_in_the_next() -> None:
    first, incomplete, *_ = align("", [entry("", b"\xe2\x80")])
    assert parts(first) == [("", b"\xe2\x80")]
    assert incomplete == b"\xe2\x80"
    second, incomplete, *_ = align("’s", [entry("", b"\x99"), entry("s")], incomplete)
    assert parts(second) == [("’", b"\x99"), ("s", None)]
    assert incomplete == b""


def test_a_token_that_is_not_in_the_text_adds_none_and_keeps_its_bytes() -> None:
    pieces, _, *_ = align("ab", [entry("a"), entry("<eos>"), entry("b")])
    assert parts(pieces) == [("a", None), ("", b"<eos>"), ("b", None)]


def test_text_without_a_token_is_a_piece_without_a_logprob() -> None:
    pieces, _, *_ = align("abc", [entry("a"), entry("b")])
    assert parts(pieces) == [("a", None), ("b", None), ("c", None)]
    assert pieces[-1].logprob is None


def test_a_token_cut_by_a_stop_text_keeps_its_bytes() -> None:
    pieces, _, *_ = align("a b", [entry("a"), entry(" b7")])
    assert parts(pieces) == [("a", None), (" b", b" b7")]


def test_text_held_back_before_the_last_token_has_no_logprob() -> None:
    pieces, _, *_ = align("one two", [entry(" two")])
    assert parts(pieces) == [("one", None), (" two", None)]
    assert [token.logprob for token in pieces] == [None, -1.0]


def test_text_held_back_before_several_tokens_has_no_logprob() -> None:
    pieces, _, *_ = align("one two!", [entry(" two"), entry("!")])
    assert parts(pieces) == [("one", None), (" two", None), ("!", None)]
    assert [token.logprob for token in pieces] == [None, -1.0, -1.0]


def test_a_character_that_was_begun_but_does_not_come_is_given_up() -> None:
    pieces, _, *_ = align("x", [entry("x")], b"\xe2")
    assert parts(pieces) == [("x", None)]


def test_a_single_placeholder_takes_the_text() -> None:
    text, token_id, raw = read_name("token_id:264")
    pieces, _, *_ = align(" a", [ReceivedToken(text, -1.0, (), token_id, raw)])
    assert (pieces[0].text, pieces[0].id) == (" a", 264)


@pytest.mark.parametrize(
    ("name", "encoding", "raw"),
    [
        ("Ġfoo", Encoding.BYTE_LEVEL, b" foo"),
        ("æ¼", Encoding.BYTE_LEVEL, b"\xe6\xbc"),
        ("Ċ", Encoding.BYTE_LEVEL, b"\n"),
        ("foo", Encoding.BYTE_LEVEL, None),
        ("漢", Encoding.BYTE_LEVEL, None),
        ("▁foo", Encoding.BYTE_FALLBACK, b" foo"),
        ("<0x0A>", Encoding.BYTE_FALLBACK, b"\n"),
        ("é", Encoding.BYTE_FALLBACK, None),
        (r"\xf0\x9f", Encoding.ESCAPES, b"\xf0\x9f"),
        (r" \xe6", Encoding.ESCAPES, b" \xe6"),
        ("é", Encoding.ESCAPES, None),
    ],
)
def test_encoded_names_are_decoded(name: str, encoding: Encoding, raw: bytes | None) -> None:
    assert decode(name, encoding) == raw


@pytest.mark.parametrize(
    ("names", "encoding"),
    [
        ((r"\xe6\xbc", r"\xa2"), Encoding.ESCAPES),
        (("<0xE6>", "<0xBC>", "<0xA2>"), Encoding.BYTE_FALLBACK),
        (("æ", "¼¢"), Encoding.BYTE_LEVEL),
    ],
)
@pytest.mark.parametrize("is_streamed", [False, True])
def test_the_bytes_of_a_character_are_those_of_its_tokens_in_every_encoding(
    names: tuple[str, ...], encoding: Encoding, is_streamed: bool
) -> None:
    tokens = [ReceivedToken(name, -1.0, (Alternative(name, -1.0), Alternative("é", -2.0))) for name in names]
    if is_streamed:
        pieces, incomplete, known = list[ReceivedToken](), b"", None
        for token in tokens:
            more, incomplete, known, _ = align(
                "漢" if token is tokens[-1] else "", [token], incomplete, known
            )
            pieces += more
    else:
        pieces, _, known, _ = align("漢", tokens)
    assert known is encoding
    raws = [decode(name, encoding) for name in names]
    assert parts(pieces) == [*(("", raw) for raw in raws[:-1]), ("漢", raws[-1])]
    assert [aligned.alternatives[0].raw for aligned in pieces] == raws
    # A plain letter stays one, but where the encoding gives it another meaning.
    other = ("", b"\xe9") if encoding is Encoding.BYTE_LEVEL else ("é", None)
    assert {(aligned.alternatives[1].text, aligned.alternatives[1].raw) for aligned in pieces} == {other}


def test_alternatives_are_decoded_once_an_encoding_is_known() -> None:
    first = align(" an", [entry("Ġan")])
    reported = ReceivedToken("a", -1.0, (Alternative("a", -1.0), Alternative("Ġbar", -2.0)))
    (token,) = align("a", [reported], first.incomplete, first.encoding).tokens
    assert [alternative.text for alternative in token.alternatives] == ["a", " bar"]


@pytest.mark.parametrize("name", ["Salt", "é", "<0xE6>", "Ġa", "x y"])
def test_a_token_that_names_another_text_is_left_out(name: str) -> None:
    pieces, *_, is_off = align(" in", [entry(name)])
    assert is_off
    assert [(token.text, token.logprob) for token in pieces] == [(" in", None)]


def test_tokens_listed_a_place_behind_are_left_out_until_they_agree_again() -> None:
    pieces, *_, is_off = align("Salt in it", [entry("Salt"), entry("Salt"), entry(" in")])
    assert is_off
    assert [(token.text, token.logprob) for token in pieces] == [("Salt", -1.0), (" in", -1.0), (" it", None)]


def test_tokens_whose_bytes_a_server_replaced_share_a_character() -> None:
    pieces, *_, is_off = align("a漢b", [entry("a"), entry("\ufffd"), entry("\ufffd"), entry("b")])
    assert not is_off
    unknown = "\ufffd".encode()
    assert parts(pieces) == [("a", None), ("", unknown), ("漢", unknown), ("b", None)]


@pytest.mark.parametrize("text", ["漢", "漢b", "x漢"])
def test_a_character_of_which_only_the_last_token_is_listed_is_that_tokens(text: str) -> None:
    entries = [entry("", b"\xa2"), *([entry("b")] if text.endswith("b") else [])]
    pieces, *_, is_off = align(text, entries)
    assert not is_off
    assert [token.raw for token in pieces][:1] == [b"\xa2"]


def test_marks_of_a_vocabulary_are_read_in_the_alternatives_too() -> None:
    reported = ReceivedToken("Ġfoo", -1.0, (Alternative("Ġfoo", -1.0), Alternative("Ġbar", -2.0)))
    pieces, _, *_ = align(" foo.", [reported, entry(".")])
    assert parts(pieces) == [(" foo", None), (".", None)]
    assert [alternative.text for alternative in pieces[0].alternatives] == [" foo", " bar"]


def test_a_vocabulary_that_begins_with_a_space_aligns_with_a_text_that_does_not() -> None:
    pieces, _, *_ = align("Hello you", [entry("▁Hello"), entry("▁you")])
    assert parts(pieces) == [("Hello", b" Hello"), (" you", None)]
