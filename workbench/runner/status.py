"""The status of a run, as reported to whoever sends it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from workbench.domain.display import show_seconds


class Phase(StrEnum):
    """Where a run stands."""

    QUEUED = "queued"
    """Waits for its turn at the endpoint."""
    STARTING = "starting"
    """The embedded model starts first."""
    SENDING = "sending"
    RETRYING = "retrying"
    """Refused; goes out again after a pause."""
    WAITING = "waiting"
    """Accepted; no text yet, or a sign of life in between."""
    ENDED = "ended"


class Status(Struct, frozen=True):
    """A change in where a run stands."""

    phase: Phase
    detail: str = ""
    """Why it is sent again, or the text of a keep-alive; one safe line."""
    seconds: float = 0.0
    """The pause before the next attempt."""
    attempt: int = 0
    """1 for the first repetition."""

    def __str__(self) -> str:
        """One line for a person; empty where there is nothing to say."""
        if self.phase is Phase.RETRYING:
            return f"{self.detail}; attempt {self.attempt + 1} in {show_seconds(self.seconds)}"
        return self.detail
