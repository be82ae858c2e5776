"""How well many requests fill their endpoint: 200 of them, 16 at once, each token after 50 ms."""

from __future__ import annotations

import asyncio
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.figure import Figure, median

REQUESTS = 200
CONCURRENCY = 16
TOKENS = 20
SECONDS_A_TOKEN = 0.05
ROUNDS = 3
GOAL = 0.95

_MOST_MEMORY = 100
"""MiB."""

_ROOT = Path(__file__).parents[2]


def serve() -> None:
    """Answer every request with its tokens, one each 50 ms; prints its port first."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

    def event(index: int) -> bytes:
        finish = "length" if index == TOKENS - 1 else None
        choice = {"index": 0, "text": f" word{index}", "finish_reason": finish}
        data = f"data: {json.dumps({'id': 'c', 'model': 'm', 'choices': [choice]})}\n\n".encode()
        return b"%x\r\n%s\r\n" % (len(data), data)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = (await reader.readuntil(b"\r\n\r\n")).lower()
                await reader.readexactly(int(request.split(b"content-length:")[1].split(b"\r\n")[0]))
                writer.write(head)
                began = time.perf_counter()
                for index in range(TOKENS):
                    await asyncio.sleep(began + (index + 1) * SECONDS_A_TOKEN - time.perf_counter())
                    writer.write(event(index))
                writer.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    asyncio.run(main())


def ours(port: int) -> tuple[float, float]:
    """Seconds from the first request to the last answer, and MiB of the process at its largest."""
    from workbench.domain.endpoint import Endpoint
    from workbench.domain.parameters import Parameters
    from workbench.domain.prompt import TextPrompt
    from workbench.domain.run import Outcome
    from workbench.runner.compare_plan import Column, plan
    from workbench.runner.connections import Connections
    from workbench.runner.many_runs import ManyRuns

    async def once() -> float:
        connections = Connections({})
        endpoint = Endpoint("bench", f"http://127.0.0.1:{port}/v1", concurrency=CONCURRENCY)
        column = Column("all", endpoint, "m", Parameters({"max_tokens": TOKENS}))
        jobs = plan([TextPrompt(f"Prompt {number}") for number in range(REQUESTS)], [column], "bench")
        # What the first request alone pays for, imports above all, is measured as the start-up's cost.
        await ManyRuns(connections, plan([TextPrompt("First")], [column], "first")).execute()

        began = time.perf_counter()
        await ManyRuns(connections, jobs).execute()
        took = time.perf_counter() - began
        await connections.aclose()
        wrong = [
            job.run for job in jobs if job.run.outcome is not Outcome.COMPLETE or job.run.tokens != TOKENS
        ]
        if wrong:
            raise SystemExit(f"{len(wrong)} runs came out wrong, one of them: {wrong[0].error}")
        return took

    took = asyncio.run(once())
    return took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@contextmanager
def _server() -> Iterator[int]:
    command = [sys.executable, "-c", "from tests.bench.compare import serve; serve()"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=_ROOT)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.wait()


def figures() -> list[Figure]:
    """The share of the ideal rate that is reached, and the memory it takes."""
    script = "import sys; from tests.bench.compare import ours; print(*ours(int(sys.argv[1])))"
    took, memory = [], 0.0
    with _server() as port:
        for _ in range(ROUNDS):
            done = subprocess.run(
                [sys.executable, "-c", script, str(port)],
                capture_output=True,
                text=True,
                check=True,
                cwd=_ROOT,
            )
            seconds, largest = map(float, done.stdout.split())
            took.append(seconds)
            memory = max(memory, largest)
    ideal = math.ceil(REQUESTS / CONCURRENCY) * TOKENS * SECONDS_A_TOKEN
    share = ideal / median(took)
    name = f"compare: {REQUESTS} requests, {CONCURRENCY} at once"
    return [
        Figure(f"{name}, share of the ideal rate", share, "", f"≥ {GOAL:g}", share >= GOAL),
        Figure(f"{name}, memory", memory, "MiB", f"≤ {_MOST_MEMORY}", memory <= _MOST_MEMORY),
    ]
