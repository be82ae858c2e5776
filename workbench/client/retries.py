"""When a refused request is sent again, and after how long."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from workbench.domain.errors import EndpointError

CAP = 120.0
"""Longest pause in seconds, whatever an endpoint asks for."""

_STATUSES = frozenset({429, 503})
_HOPELESS = frozenset({"insufficient_quota"})


def is_retried(error: EndpointError, *, connected: bool) -> bool:
    """Whether the request may be sent again: refusals and failures to connect, which nobody bills."""
    if not connected:
        return True
    return error.status in _STATUSES and error.code not in _HOPELESS


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds an answer asks to wait: `retry-after-ms`, or `Retry-After` as seconds or as a date.

    `headers` has lower-case names. None where nothing readable is asked.
    """
    if (milliseconds := _seconds(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    asked = headers.get("retry-after", "").strip()
    if (seconds := _seconds(asked)) is not None:
        return seconds
    try:
        when = parsedate_to_datetime(asked)
    except (TypeError, ValueError, IndexError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max((when - (now or datetime.now(UTC))).total_seconds(), 0.0)


def pause(attempt: int, asked: float | None, chance: float) -> float:
    """Seconds before a repetition; `attempt` counts from 1, `chance` is random in 0 … 1.

    What the endpoint asked for is kept to, with up to a tenth more so that clients do not return as one;
    else it doubles from half a second, of which chance takes up to a quarter.
    """
    if asked is not None:
        return min(asked * (1 + 0.1 * chance), CAP)
    return min(0.5 * 2.0 ** (attempt - 1), 8.0) * (1 - 0.25 * chance)


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None
