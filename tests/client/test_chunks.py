"""Joined chunks bring the same answer, however the network cuts them."""

from __future__ import annotations

from itertools import pairwise

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.client.chunk_merging import ChunkJoiner

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: x\r\nTransfer-Encoding: chunked\r\n\r\n"


def framed(pieces: list[bytes], extension: bytes = b"") -> bytes:
    return b"".join(b"%x%s\r\n%s\r\n" % (len(piece), extension, piece) for piece in pieces) + b"0\r\n\r\n"


def read_back(raw: list[bytes]) -> tuple[list[bytes], bool]:
    """The pieces of the body as an HTTP library sees them, and whether its end came."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("Host", "x")]))
    connection.send(h11.EndOfMessage())
    pieces: list[bytes] = []
    for data in raw:
        connection.receive_data(data)
        while (event := connection.next_event()) is not h11.NEED_DATA:
            if isinstance(event, h11.Data):
                pieces.append(bytes(event.data))
            if isinstance(event, h11.EndOfMessage):
                return pieces, True
    return pieces, False


def joined(wire: bytes, cuts: list[int]) -> list[bytes]:
    """What the joiner passes on of an answer cut at some places."""
    joiner = ChunkJoiner()
    bounds = sorted({cut % (len(wire) + 1) for cut in cuts} | {0, len(wire)})
    passed = (joiner.feed(wire[a:b]) for a, b in pairwise(bounds))
    return [part for part in passed if part]


@given(
    st.lists(st.binary(min_size=1, max_size=40), max_size=12),
    st.lists(st.integers(0, 10_000), max_size=30),
    st.sampled_from([b"", b";a=b", b" "]),
)
def test_a_body_survives_any_cut(pieces: list[bytes], cuts: list[int], extension: bytes) -> None:
    got, ended = read_back(joined(HEAD + framed(pieces, extension), cuts))
    assert b"".join(got) == b"".join(pieces)
    assert ended


def test_chunks_that_came_together_become_one() -> None:
    got, _ = read_back(joined(HEAD + framed([b"a", b"b", b"c"]), []))
    assert got == [b"abc"]


def test_a_part_of_a_chunk_is_passed_on_at_once() -> None:
    got, ended = read_back([ChunkJoiner().feed(HEAD + b"100\r\nabc")])
    assert (got, ended) == ([b"abc"], False)


def test_an_interim_answer_comes_before_the_real_one() -> None:
    wire = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + HEAD + framed([b"a", b"b"])
    for cut in range(len(wire)):
        assert read_back(joined(wire, [cut]))[0] in ([b"ab"], [b"a", b"b"])


def test_what_is_not_chunked_passes_unchanged() -> None:
    wire = b"HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    for cut in range(len(wire)):
        assert b"".join(joined(wire, [cut])) == wire


def test_broken_framing_is_left_to_the_http_library() -> None:
    assert b"".join(joined(HEAD + b"1\r\na\r\nzz\r\n", [])) == HEAD + b"1\r\na\r\nzz\r\n"


@pytest.mark.parametrize("line_end", [b"", b"\n", b"x", b"xx", b"\r\r\n", b"\n\r"])
def test_a_chunk_that_is_longer_than_its_size_is_refused_wherever_it_is_cut(line_end: bytes) -> None:
    wire = HEAD + b"1\r\na\r\n1\r\nb" + line_end + b"1\r\nc\r\n0\r\n\r\n"
    for cut in range(len(wire)):
        with pytest.raises(h11.RemoteProtocolError):
            read_back(joined(wire, [cut]))


def test_the_next_answer_on_a_connection_is_read_anew() -> None:
    joiner = ChunkJoiner()
    for _ in range(2):
        joiner.begin()
        assert read_back([joiner.feed(HEAD + framed([b"a", b"b"]))]) == ([b"ab"], True)
