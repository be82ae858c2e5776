"""When a refused request is sent again, and after how long."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from workbench.domain.errors import EndpointError

_STATUSES = frozenset({429, 503})
_HOPELESS = frozenset({"insufficient_quota"})
_LONGEST = 366 * 86_400.0
"""Seconds beyond which a time to wait is not meant."""


def can_retry(error: EndpointError, *, connected: bool) -> bool:
    """Whether the request may be sent again: refusals and failures to connect, which nobody bills."""
    if not connected:
        return True
    return error.status in _STATUSES and error.code not in _HOPELESS


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds an answer asks to wait: `retry-after-ms`, or `Retry-After` as seconds or as a date.

    `headers` has lower-case names. None where nothing readable is asked, or no time that is still to come.
    """
    after, milliseconds = headers.get("retry-after", "").strip(), _number(headers.get("retry-after-ms", ""))
    seconds = milliseconds / 1000 if milliseconds else _number(after) or _seconds_until(after, now)
    return seconds if seconds is not None and seconds < _LONGEST else None


def pause(attempt: int, requested: float | None, chance: float) -> float:
    """Seconds before a repetition; `attempt` counts from 1, `chance` is random in 0 … 1.

    What the endpoint asked for is kept to, however long it is, with a tenth more or a second at most so that
    clients do not return as one; else it doubles from half a second, of which chance takes up to a quarter.
    """
    if requested is not None:
        return requested + min(0.1 * requested, 1.0) * chance
    return min(0.5 * 2.0 ** (attempt - 1), 8.0) * (1 - 0.25 * chance)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if number > 0 else None


def _seconds_until(text: str, now: datetime | None) -> float | None:
    try:
        when = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    seconds = (when - (now or datetime.now(UTC))).total_seconds()
    return seconds if seconds > 0 else None
