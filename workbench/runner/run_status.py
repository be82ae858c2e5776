"""The status of a run while it is sent."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from workbench.domain.display import show_seconds


class Phase(StrEnum):
    """The phase of a run before its first token, or its end."""

    QUEUED = "queued"
    """Waiting for the endpoint's rate limiter."""
    STARTING = "starting"
    """Waiting for the embedded model to start."""
    SENDING = "sending"
    RETRYING = "retrying"
    """Failed; sent again after a pause."""
    WAITING = "waiting"
    """Accepted by the endpoint, without text so far, or after a keep-alive."""
    ENDED = "ended"


class Status(Struct, frozen=True):
    """A change of a run's phase."""

    phase: Phase
    detail: str = ""
    """Explanation, such as the error before a retry or the text of a keep-alive; one safe line."""
    seconds: float = 0.0
    """The pause before the next attempt."""
    attempt: int = 0
    """Number of the retry, from 1; 0 before the first."""

    def __str__(self) -> str:
        """One line for the person; empty if there is nothing to report."""
        if self.phase is Phase.RETRYING:
            return f"{self.detail}; attempt {self.attempt + 1} in {show_seconds(self.seconds)}"
        return self.detail
