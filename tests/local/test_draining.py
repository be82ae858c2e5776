"""A client that sends more than is taken reads why, over a real connection."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn

from tests.local.fakes import FakeEngine
from workbench.local.app import MOST_BODY, LocalServer


@asynccontextmanager
async def listening(key: str | None) -> AsyncIterator[int]:
    """The application behind its real HTTP server; gives the port."""
    server = LocalServer("fake", 2, 4)
    server.attach(FakeEngine())
    listener = uvicorn.Server(uvicorn.Config(server.app(key), log_level="critical", lifespan="off"))
    with socket.create_server(("127.0.0.1", 0)) as place:
        task = asyncio.create_task(listener.serve(sockets=[place]))
        try:
            yield place.getsockname()[1]
        finally:
            listener.should_exit = True
            await task
            await server.aclose()


@pytest.mark.parametrize(("key", "status"), [(None, b"413"), ("secret", b"401")])
async def test_a_refusal_is_read_by_a_client_that_sends_everything_first(
    key: str | None, status: bytes
) -> None:
    size = 2 * MOST_BODY
    async with listening(key) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        lines = ("POST /v1/completions HTTP/1.1", "Host: x", "Content-Type: application/json")
        writer.write("\r\n".join((*lines, f"Content-Length: {size}", "", "")).encode())
        for _ in range(size // 65536):
            writer.write(b" " * 65536)
            await writer.drain()
        answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
        writer.close()
    assert answer.split()[1] == status
