"""Commands in the tests' own process, which is cheap, against a loopback server in another thread."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread

from tests.client.loopback import Handler, Loopback, serving


@contextmanager
def serving_beside(handler: Handler) -> Iterator[Loopback]:
    """A loopback server in a thread; commands that take signals need the main one."""
    ready: Future[tuple[Loopback, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        async with serving(handler) as loopback:
            over = asyncio.Event()
            ready.set_result((loopback, asyncio.get_running_loop(), over))
            await over.wait()

    thread = Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    loopback, loop, over = ready.result(60)
    try:
        yield loopback
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
