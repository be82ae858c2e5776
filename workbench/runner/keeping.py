"""Keeping a run in its session while it streams, and when it ends."""

from __future__ import annotations

import asyncio

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
