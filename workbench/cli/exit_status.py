"""Exit statuses."""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    """Exit statuses of all commands."""

    OK = 0
    """Success; a complete or unfinished answer; a check without differences."""
    FAILED = 1
    """An error, a truncated answer, or a check with differences."""
    BAD_ARGUMENTS = 2
    """Invalid arguments, listed on standard error."""
    ENDPOINT_FAILED = 3
    """Only `check`: the endpoint failed, and its answers do not differ."""
    INTERRUPTED = 130
    """Stopped by Ctrl+C; received tokens are kept."""
