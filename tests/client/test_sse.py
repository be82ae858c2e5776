"""Server-sent events come out whole, however they are cut and whatever servers do to them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.client.sse import Comment, ErrorField, SseParser, Stray


def parsed(pieces: list[bytes]) -> list[bytes]:
    parser = SseParser()
    found = [payload for chunk in pieces for payload in parser.feed(chunk)]
    return [*found, *parser.finish()]


def pieces_of(wire: bytes, cuts: list[int]) -> list[bytes]:
    bounds = sorted({cut % (len(wire) + 1) for cut in cuts} | {0, len(wire)})
    return [wire[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]  # noqa: RUF007


PAYLOADS = st.lists(st.binary(min_size=1).filter(lambda payload: not {10, 13} & set(payload)), max_size=8)


@given(PAYLOADS, st.sampled_from([b"\n", b"\r\n", b"\r"]), st.lists(st.integers(0, 5000), max_size=40))
def test_payloads_survive_any_cut_and_line_end(
    payloads: list[bytes], line_end: bytes, cuts: list[int]
) -> None:
    wire = b"".join(b"data: " + payload + line_end * 2 for payload in payloads)
    assert parsed(pieces_of(wire, cuts)) == payloads


@given(st.binary(), st.lists(st.integers(0, 5000), max_size=40))
def test_any_bytes_give_the_same_payloads_however_cut(wire: bytes, cuts: list[int]) -> None:
    assert parsed(pieces_of(wire, cuts)) == parsed([wire])


@given(st.text("da:t \n\rx\ufeff"), st.lists(st.integers(0, 5000), max_size=40))
def test_anything_like_events_gives_the_same_payloads_however_cut(text: str, cuts: list[int]) -> None:
    wire = text.encode()
    assert parsed(pieces_of(wire, cuts)) == parsed([wire])


def test_lines_end_at_crlf_lf_and_cr_only() -> None:
    odd = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg".encode()
    assert parsed([b"data: " + odd + b"\n\n"]) == [odd]


def test_an_event_may_have_several_data_lines_and_other_fields() -> None:
    assert parsed([b"event: x\nid: 7\nretry: 1\ndata: a\ndata:b\ndata\nfoo: bar\n\n"]) == [b"a\nb\n"]


def test_comments_and_error_fields_are_told_apart_from_data() -> None:
    found = parsed([b": ping\n\n:\n\nerror: {}\n\ndata: :x\n\n"])
    assert found == [b"ping", b"", b"{}", b":x"]
    assert [type(payload) for payload in found] == [Comment, Comment, ErrorField, bytes]


def test_an_end_without_a_blank_line_or_any_line_end_loses_nothing() -> None:
    assert parsed([b"data: a\n\ndata: [DONE]"]) == [b"a", b"[DONE]"]
    assert parsed([b"data: a\r\n\r\ndata: [DONE]\r"]) == [b"a", b"[DONE]"]


def test_an_event_is_told_before_the_next_one_begins() -> None:
    parser = SseParser()
    assert parser.feed(b"data: a\r\n\r") == [b"a"]
    assert parser.feed(b"\ndata: b\n\n") == [b"b"]


def test_only_one_space_after_the_colon_is_dropped() -> None:
    assert parsed([b"data:  a\n\n"]) == [b" a"]


def test_a_line_that_is_no_field_is_told_apart_from_the_events_around_it() -> None:
    found = parsed([b'data: a\n\n{"detail":"x"}\n\ndata: [DONE]\n\n'])
    assert found == [b"a", b'{"detail":"x"}', b"[DONE]"]
    assert [type(payload) for payload in found] == [bytes, Stray, bytes]


def test_a_page_within_a_stream_is_one_stray_with_its_blank_lines() -> None:
    page = b"<html>\n<head></head>\n\n<h1>502</h1>\n</html>"
    assert parsed([b"data: a\n\n", page + b"\n\ndata: b\n\n"]) == [b"a", page.replace(b"\n\n", b"\n"), b"b"]


def test_a_stream_cut_within_a_fields_name_has_no_stray() -> None:
    assert [parsed([b"data: a\n\ndata:"[:end]]) for end in range(9, 15)] == [[b"a"]] * 6


class Counted(bytes):
    """A piece of a stream that counts the bytes put before it."""

    copied = 0

    def __radd__(self, before: bytes) -> bytes:
        Counted.copied += len(before)
        return before + bytes(self)


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("start", [b"data: ", b"data: x\n\ndata: "])
def test_a_large_event_in_many_pieces_is_copied_only_a_few_times(start: bytes, line_end: bytes) -> None:
    parser, Counted.copied = SseParser(), 0
    start = start.replace(b"\n", line_end)
    found = [payload for chunk in [start, *[b"x" * 64] * 4096] for payload in parser.feed(Counted(chunk))]
    assert parser.pending > 4096 * 64
    found += parser.feed(Counted(line_end * 2))
    assert found[-1] == b"x" * 64 * 4096
    assert Counted.copied < 4 * 4096 * 64
