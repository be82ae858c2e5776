"""Requests are sent again only where nobody bills them, and no sooner than asked."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from workbench.client.retries import NotConnectedError, can_retry, pause, retry_after
from workbench.domain.errors import EndpointError

NOW = datetime(2026, 11, 29, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "0"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after-ms": "0"}, None),
        ({"retry-after-ms": "86400000"}, 86_400),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Sun, 29 Nov 2026 12:00:20 GMT"}, 20),
        ({"retry-after": "Sun, 29 Nov 2026 12:00:20 -0000"}, 20),
        ({"retry-after": "Sun, 29 Nov 2026 11:00:00 GMT"}, None),
        ({"retry-after": "Sun, 29 Nov 99999999999999999999 12:00:20 GMT"}, None),
        ({"retry-after": "Sun, 29 Nov 2026 12:00:20 +99999999999999999999"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "1e300"}, None),
        ({"retry-after-ms": "1e300"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_every_form_of_retry_after_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
def test_a_pause_is_never_shorter_than_asked_nor_much_longer(chance: float) -> None:
    assert 7 <= pause(1, 7, chance) < 7.8
    assert 86_400 <= pause(1, 86_400, chance) <= 86_401
    assert 0.375 <= pause(1, None, chance) <= 0.5
    assert pause(2, None, chance) == 2 * pause(1, None, chance)
    assert pause(50, None, chance) <= 8


def test_only_refusals_and_failures_to_connect_are_sent_again() -> None:
    assert can_retry(NotConnectedError("x"))
    assert can_retry(EndpointError("x", status=429))
    assert can_retry(EndpointError("x", status=503))
    assert not can_retry(EndpointError("x", status=429, code="insufficient_quota"))
    assert not can_retry(EndpointError("x", status=500))
    assert not can_retry(EndpointError("x"))
