"""Limit the number of requests that run or wait."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from workbench.local.refusal import Refusal

QUEUE = 28
"""Default number of requests that may wait for a slot."""
_RETRY_SECONDS = 2


class Admission:
    """Counts the requests that are running or waiting."""

    def __init__(self, most: int) -> None:
        """`most` is the maximum number of requests that run or wait."""
        self._most = most
        self._admitted = 0

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """Count a request while it runs or waits. Raises Refusal (429) if the maximum is reached."""
        if self._admitted >= self._most:
            raise Refusal(
                429,
                f"{self._admitted} requests are running or waiting; try again in {_RETRY_SECONDS} s",
                headers={"Retry-After": str(_RETRY_SECONDS)},
            )
        self._admitted += 1
        try:
            yield
        finally:
            self._admitted -= 1
