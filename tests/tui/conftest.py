"""The pilot waits for the screen to have done its work, not for the processor to rest."""

from __future__ import annotations

from functools import partial

import pytest
from textual._wait import wait_for_idle

_MOST = 0.2
"""Seconds to wait for a rest after a key; a stream has none, and Textual would wait for a whole one."""


@pytest.fixture(autouse=True)
def brisk_pilot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a key cost a test about what it costs the screen."""
    for module in ("app", "pilot"):
        monkeypatch.setattr(f"textual.{module}.wait_for_idle", partial(wait_for_idle, max_sleep=_MOST))
