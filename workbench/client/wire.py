"""A record of one exchange as it went over the wire, for a person to look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MASK = "•••"
"""Stands where a key was."""

_MOST = 64 * 1024 * 1024


@dataclass(slots=True)
class WireLog:
    """The last request of an exchange, its key masked, and the bytes of the answer as they came."""

    method: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    """As sent, with the key masked."""
    body: bytes = b""
    status: int | None = None
    answer_headers: Mapping[str, str] = field(default_factory=dict)
    pieces: list[tuple[float, bytes]] = field(default_factory=list)
    """Seconds since the request, and what came then."""
    size: int = 0
    """Bytes of the answer; pieces beyond 64 MiB are counted but not kept."""

    def sending(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> None:
        """Begin anew with a request."""
        self.method, self.url, self.headers, self.body = method, url, dict(headers), body
        self.status, self.answer_headers, self.pieces, self.size = None, {}, [], 0

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """Keep the head of the answer."""
        self.status, self.answer_headers = status, dict(headers)

    def received(self, at: float, piece: bytes) -> None:
        """Keep a piece of the answer's body."""
        self.size += len(piece)
        if self.size <= _MOST:
            self.pieces.append((at, piece))
