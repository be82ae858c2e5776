"""How fast the client takes a stream in: events a second, from the request to the stored run."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.environments import environment
from tests.bench.figure import PAIRED, Figure, median, paired

EVENTS = 20_000
ROUNDS = 5
GOAL = 6.0

_PEERS = Path(__file__).with_name("client_peers.py")
_OPENAI = ("openai==3.57.0",)


def stream(events: int = EVENTS) -> list[bytes]:
    """The events of a stream of tokens with five alternatives each, as the legacy shape has them."""
    words = [" the", " lighthouse", " keeper", " opened", " a", " door", ",", " and", " saw", "\n"]
    made = []
    for index in range(events):
        rows = {words[(index + step) % len(words)]: -0.25 - step - index % 7 / 10 for step in range(5)}
        word = words[index % len(words)]
        choice = {
            "text": word,
            "index": 0,
            "logprobs": {
                "tokens": [word],
                "token_logprobs": [rows[word]],
                "top_logprobs": [rows],
                "text_offset": [index * 6],
            },
            "finish_reason": "length" if index == events - 1 else None,
        }
        made.append(
            {
                "id": "cmpl-1",
                "object": "text_completion",
                "created": 1,
                "model": "m",
                "choices": [choice],
            }
        )
    return [f"data: {json.dumps(event)}\n\n".encode() for event in made] + [b"data: [DONE]\n\n"]


def serve() -> None:
    """Answer every request with the stream, one HTTP chunk an event; prints its port first."""
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in stream()) + b"0\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (
                        int(line.split(b":")[1])
                        for line in request.split(b"\r\n")
                        if line.lower().startswith(b"content-length:")
                    ),
                    0,
                )
                await reader.readexactly(length)
                writer.write(head + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    asyncio.run(main())


def ours(port: int) -> float:
    """Seconds from the request to the stored run."""
    from workbench.client.wire_log import WireLog
    from workbench.domain.endpoint import Endpoint
    from workbench.domain.parameters import Parameters
    from workbench.domain.prompt import TextPrompt
    from workbench.domain.request import Request
    from workbench.domain.run import Outcome, Run
    from workbench.runner.connections import Connections

    async def once() -> float:
        connections = Connections({})
        endpoint = Endpoint("bench", f"http://127.0.0.1:{port}/v1")
        run = Run(Request(TextPrompt("Hi"), "m", Parameters({"logprobs": 5, "max_tokens": EVENTS})))
        # The library's import is the start-up's cost, measured there.
        import httpx  # noqa: F401

        began = time.perf_counter()
        # As the screen sends: with the record that its wire view shows.
        await connections.send(endpoint, run, wire=WireLog())
        took = time.perf_counter() - began
        await connections.aclose()
        if run.outcome is not Outcome.COMPLETE or run.tokens != EVENTS:
            raise SystemExit(f"the run came out as {run.outcome} with {run.tokens} tokens: {run.error}")
        return took

    return asyncio.run(once())


@contextmanager
def server() -> Iterator[int]:
    """The port of a server in a process of its own."""
    command = [sys.executable, "-c", "from tests.bench.client import serve; serve()"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.wait()


def _peer(python: Path | str, name: str, port: int) -> float:
    done = subprocess.run(
        [str(python), str(_PEERS), name, str(port)], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def figures() -> list[Figure]:
    """Events a second of this client and its peers, in turn against one server."""
    openai = environment("client-openai", *_OPENAI)
    took: dict[str, list[float]] = {"ours": [], "openai": [], "httpx raw bytes": []}
    with server() as port:
        for _ in range(ROUNDS):
            took["ours"].append(_own(port))
            took["openai"].append(_peer(openai, "openai", port))
            took["httpx raw bytes"].append(_peer(sys.executable, "httpx", port))
    rates = {name: EVENTS / median(times) for name, times in took.items()}
    value, ratio = rates.pop("ours"), paired(took["openai"], took["ours"])
    return [
        Figure(
            "client: events taken in",
            round(value),
            "events/s",
            f"≥ {GOAL:g}× openai",
            ratio >= GOAL,
            {name: round(rate) for name, rate in rates.items()} | {PAIRED: ratio},
        )
    ]


def _own(port: int) -> float:
    script = f"from tests.bench.client import ours; print(ours({port}))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    return float(done.stdout)
