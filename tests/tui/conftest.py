"""The pilot waits for the screen to have done its work, not for the processor to rest."""

from __future__ import annotations

import asyncio
from time import monotonic

import pytest

_LEAST, _MOST = 0.002, 0.1
"""Seconds after a key."""


async def _settled(min_sleep: float = 0.0, max_sleep: float = _MOST) -> None:
    """Wait until nothing is ready to run.

    Textual's own waits until the process has rested for 20 ms, thrice a key, and while something streams,
    which never rests, a second each time.
    """
    loop = asyncio.get_running_loop()
    assert isinstance(loop, asyncio.BaseEventLoop)
    until = monotonic() + min(max_sleep, _MOST)
    await asyncio.sleep(max(min_sleep, _LEAST))
    while loop._ready and monotonic() < until:  # type: ignore[attr-defined]  # noqa: ASYNC110
        await asyncio.sleep(0)


@pytest.fixture(autouse=True)
def brisk_pilot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a key cost a test what it costs the screen."""
    monkeypatch.setattr("textual.app.wait_for_idle", _settled)
    monkeypatch.setattr("textual.pilot.wait_for_idle", _settled)
