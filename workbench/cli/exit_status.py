"""What a command tells the shell that started it."""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    """Exit statuses of all commands."""

    OK = 0
    """Done; an answer that is complete or unfinished; a check that found nothing different."""
    FAILED = 1
    """An error, a truncated answer, or a check that found a difference."""
    BAD_ARGUMENTS = 2
    """Bad arguments, each named on standard error."""
    ENDPOINT_FAILED = 3
    """Of `check` only: the endpoint failed, and nothing that it answered differs."""
    INTERRUPTED = 130
    """Stopped by Ctrl+C; what came is kept."""
