"""The sessions screen over a thousand files: how long the thread that answers keys is at work in one go."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from textual.app import App

from tests.bench.figure import Figure, median
from tests.bench.sessions import run_of_tokens
from tests.bench.view import SIZE, Sink
from workbench.domain.session import Session
from workbench.storage.files import Folders
from workbench.storage.session_store import SessionStore
from workbench.storage.sessions_folder import Library
from workbench.tui.sessions.screen import SessionsScreen

_ROUNDS = 5
_SESSIONS = 1_000
_TICK = 0.01


class _Finder(App[None]):
    """Nothing but the sessions screen."""

    def __init__(self, library: Library) -> None:
        super().__init__(driver_class=Sink)
        self._library = library
        self.longest = 0.0
        """The longest work without a turn for anything else, in seconds of this thread's own time."""

    def on_ready(self) -> None:
        self.run_worker(self._find())

    async def _find(self) -> None:
        watching = asyncio.create_task(self._watch())
        screen = SessionsScreen(self._library, None)
        await self.push_screen(screen)
        await _until(lambda: len(screen.shown) == _SESSIONS)
        for key in ("down", "pagedown", "9", "9"):
            self.simulate_key(key)
        await _until(lambda: 0 < len(screen.shown) < 100)
        watching.cancel()
        self.exit()

    async def _watch(self) -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(_TICK)
            self.longest = max(self.longest, time.thread_time() - before)


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(_TICK)


def _fill(library: Library) -> None:
    first = library.new_path("session 0")
    store = SessionStore.create(first, Session(title="session 0"))
    store.finish(run_of_tokens(20))
    store.close()
    raw = first.read_text()
    for number in range(1, _SESSIONS):
        name = f"session {number}"
        first.with_name(f"{name}.toml").write_text(raw.replace("session 0", name, 1))


def figures() -> list[Figure]:
    """The longest work, the median of five screens that read everything anew."""
    found = []
    with tempfile.TemporaryDirectory() as home:
        folders = Folders.default({"WORKBENCH_HOME": home})
        _fill(Library(folders))
        for _ in range(_ROUNDS):
            # Without what is known of them, all are read again.
            (Path(home) / "state" / "sessions.json").unlink(missing_ok=True)
            app = _Finder(Library(folders))
            asyncio.run(app.run_async(headless=False, size=SIZE))
            found.append(app.longest * 1e3)
    longest = median(found)
    name = f"sessions screen of {_SESSIONS:,}: longest work in one go, read, listed and searched"
    return [Figure(name, longest, "ms", "≤ 100 ms", longest <= 100)]
