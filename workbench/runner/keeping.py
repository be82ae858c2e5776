"""Keeping runs in their session while they stream, and when they end."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from workbench.domain.errors import StorageError
from workbench.domain.run import Run
from workbench.storage.session_store import SessionStore

_INTERVAL = 0.5
"""Seconds between looks: a token is stored before it is a second old."""


async def keep(store: SessionStore, run: Run) -> None:
    """Store a run's tokens while it streams and the whole run when it has ended.

    Files are written in a thread, so that a slow disk stalls nobody. Raises StorageError where the disk
    refuses; the store keeps everything in memory and tries again with the next call.
    """
    await asyncio.to_thread(store.begin, run)
    while run.is_running:
        await asyncio.sleep(_INTERVAL)
        if run.is_running:
            await asyncio.to_thread(store.progress, run)
    await asyncio.to_thread(store.finish, run)


class KeptRuns:
    """Keeps many runs in a session: those that stream beside its file, those that have ended in it."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._streaming: dict[str, Run] = {}

    def began(self, run: Run) -> None:
        """Keep what a run receives from now on."""
        self._streaming[run.id] = run

    def ended(self, run: Run) -> None:
        """Keep a whole run; one whose turn never came is none worth keeping.

        Raises StorageError; the store has it in memory then.
        """
        if self._streaming.pop(run.id, None) is not None:
            self._store.finish(run)

    async def watch(self) -> None:
        """Store what streams, until cancelled."""
        while True:
            await asyncio.sleep(_INTERVAL)
            # The end of a run says what the disk refuses; until then the next look tries again.
            with suppress(StorageError):
                # Here and not in a thread, as the columns grow on this one.
                for run in list(self._streaming.values()):
                    self._store.progress(run)
