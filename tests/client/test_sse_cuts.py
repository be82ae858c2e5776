"""A recorded stream gives the same events wherever it is cut: at every position, and with other line ends."""

from __future__ import annotations

import pytest

from tests.client.cases import Case, recordings, wire_cases
from workbench.client.sse import SseParser

pytestmark = pytest.mark.slow

STREAMS = [case for case in [*wire_cases(), *recordings()] if case.is_stream]


def events(*pieces: bytes) -> list[bytes]:
    parser = SseParser()
    found: list[bytes] = []
    for chunk in pieces:
        found += parser.feed(chunk)
    return found + parser.finish()


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("case", STREAMS, ids=str)
def test_every_cut_gives_the_same_events(case: Case, line_end: bytes) -> None:
    body = case.body.replace(b"\r\n", b"\n").replace(b"\n", line_end)
    whole = events(body)
    assert whole
    for index in range(len(body) + 1):
        assert events(body[:index], body[index:]) == whole, f"cut at byte {index}"
