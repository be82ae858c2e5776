"""Decide whether and when a failed request is retried."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from workbench.domain.errors import EndpointError

_STATUSES = frozenset({429, 503})
_HOPELESS = frozenset({"insufficient_quota"})
_LONGEST = 366 * 86_400.0
"""Seconds above which a requested wait is ignored."""


class NotConnectedError(EndpointError):
    """No connection was established, so nothing was sent."""


def can_retry(error: EndpointError) -> bool:
    """Whether the request may be retried: a failed connection, or a refusal that is not billed."""
    is_refused = error.status in _STATUSES and error.code not in _HOPELESS
    return is_refused or isinstance(error, NotConnectedError)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds to wait from `retry-after-ms`, or from `Retry-After` as seconds or as a date.

    `headers` has lower-case names. Returns None for a missing or invalid value, or a time in the past.
    """
    after, milliseconds = headers.get("retry-after", "").strip(), _number(headers.get("retry-after-ms", ""))
    seconds = milliseconds / 1000 if milliseconds else _number(after) or _seconds_until(after, now)
    return seconds if seconds is not None and seconds < _LONGEST else None


def pause(attempt: int, requested: float | None, chance: float) -> float:
    """Return the seconds before a retry; `attempt` counts from 1, `chance` is a random number in 0 … 1.

    The wait that the endpoint asks for is extended by up to 10 %, at most 1 s, so that clients do not retry
    together. Without one, the wait doubles from 0.5 s up to 8 s, shortened randomly by up to a quarter.
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
