"""The engine's slots and the queue before them: who generates now, who waits, who is turned away."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from workbench.domain.json_values import JsonValue
from workbench.local.engine import Chunk, Engine
from workbench.local.refusal import Refusal

_RETRY_SECONDS = 2


class Slots:
    """Runs choices on the engine, at most as many at once as it has slots."""

    def __init__(self, engine: Engine, slots: int, queue: int) -> None:
        """`queue` is how many requests may wait beside those that have a slot."""
        self._engine = engine
        self._free = asyncio.Semaphore(slots)
        self._threads = ThreadPoolExecutor(slots, "choice")
        self._most = slots + queue
        self._admitted = 0
        self._stops: set[threading.Event] = set()
        self._is_stopped = False

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """A place in the queue, for as long as a request takes.

        Raises Refusal (429) where the queue is full.
        """
        if self._admitted >= self._most:
            raise Refusal(
                429,
                f"{self._admitted} requests are running or waiting; try again in {_RETRY_SECONDS} s",
                headers={"Retry-After": str(_RETRY_SECONDS)},
            )
        self._admitted += 1
        try:
            yield
        finally:
            self._admitted -= 1

    async def generate(self, body: Mapping[str, JsonValue], on_chunk: Callable[[Chunk], bool]) -> None:
        """Generate one choice once a slot is free; cancelling stops the engine at its next event.

        `on_chunk` is called in the choice's thread and ends it by answering true. The slot counts as taken
        until the engine has really let go of it.

        Raises Refusal (503) once the server is shutting down.
        """
        await self._free.acquire()
        if self._is_stopped:
            self._free.release()
            raise Refusal(503, "the server is shutting down")
        stop = threading.Event()
        self._stops.add(stop)
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(
            self._threads, self._engine.generate, body, lambda chunk: stop.is_set() or on_chunk(chunk)
        )

        def let_go(done: asyncio.Future[None]) -> None:
            self._stops.discard(stop)
            self._free.release()
            if not done.cancelled():
                done.exception()  # Taken note of, so that an abandoned choice leaves no complaint behind.

        work.add_done_callback(let_go)
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            stop.set()
            raise

    def stop(self) -> None:
        """End every choice at the engine's next event, and refuse new ones."""
        self._is_stopped = True
        for stop in self._stops:
            stop.set()

    async def aclose(self) -> None:
        """Stop whatever still runs and wait until the engine has let go of it."""
        self.stop()
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=True)
