"""What a transport hands over: an answer as it comes, or why there is none."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass

from workbench.domain.errors import EndpointError


class BrokenError(Exception):
    """The exchange broke after the connection stood; `error` says why."""

    def __init__(self, error: EndpointError) -> None:
        super().__init__(error.title)
        self.error = error


class NotConnectedError(BrokenError):
    """No connection came about, so nothing was sent."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The head of an answer, and its body as it comes."""

    status: int
    reason: str
    headers: Mapping[str, str]
    """With lower-case names."""
    pieces: AsyncGenerator[bytes]
    """Raises BrokenError where the connection breaks off."""

    @property
    def is_success(self) -> bool:
        """Whether the status announces an answer rather than an error."""
        return 200 <= self.status < 300
