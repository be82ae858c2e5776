"""Every test runs with folders of its own, no proxy, and no key from the environment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Point every folder at the test's own, and clear what would leak in."""
    for name in list(os.environ):
        if name.upper().endswith(("_PROXY", "_API_KEY")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    for name in ("NO_COLOR", "TMUX"):
        monkeypatch.delenv(name, raising=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Fast tests first."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is not None)
