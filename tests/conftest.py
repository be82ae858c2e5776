"""Every test runs with folders and a terminal of its own, no proxy, and no key from the environment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

_ENGINE = frozenset({"client", "local", "runner"})
"""Folders whose slow tests start the engine, which takes every core for itself."""

# How long an example takes says more of the machine than of the code. A change is judged by the same
# examples each time; who develops looks for new ones with every run.
settings.register_profile("untimed", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def own_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Point every folder at the test's own, and clear what would leak in."""
    for name in list(os.environ):
        if name.upper().endswith(("_PROXY", "_API_KEY")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    for name in ("NO_COLOR", "TMUX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """All tests take every core; a few of them start sooner in this process.

    Tests of screens wait for more than half of their time, so that three share two cores.
    """
    cores = min(os.cpu_count() or 1, 8)
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS or cores == 1:
        return 0
    config.option.dist = "loadgroup"
    return cores * 3 // 2


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Fast tests first; those that run the engine one after the other, beside all others from the start."""
    shared = hasattr(config, "workerinput")
    for item in items:
        if item.get_closest_marker("slow") and item.path.parent.name in _ENGINE:
            item.add_marker(pytest.mark.xdist_group("engine"))
    items.sort(key=lambda item: (item.get_closest_marker("slow") is not None) != shared)
