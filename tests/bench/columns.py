"""The compare screen while eight columns stream: the time from a key to the screen, and the CPU it takes."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from textual.driver import Driver
from textual.events import Key

from tests.bench.figure import Figure, percentile
from tests.bench.terminal import streaming
from tests.bench.view import Sink
from tests.client.loopback import serving
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Parameters
from workbench.runner.comparison import Column, plan
from workbench.tui.app import WorkbenchApp
from workbench.tui.compare.comparison import MOST_COLUMNS, Comparison
from workbench.tui.compare.screen import CompareScreen
from workbench.workspace.services import Services

RATE = 200
"""Tokens a second and column."""
SECONDS = 120.0
"""How long the server streams; the measurement is over before."""
SIZE = (200, 50)
KEYS = 100
GOAL = 50.0
"""Milliseconds from key to screen that 99 of 100 must not exceed."""
_MIDDLE = 400
"""Tokens of each column before the measurement begins."""
_WATCHED = 4.0
"""Seconds in which the CPU is watched."""

_ROOT = Path(__file__).parents[2]


def serve() -> None:
    """Stream to whoever asks; prints the base URL first."""

    async def main() -> None:
        async with serving(streaming(RATE, SECONDS)) as server:
            print(server.base_url, flush=True)
            await asyncio.Event().wait()

    asyncio.run(main())


class Listener(Sink):
    """A terminal that swallows what is drawn, and tells when the token cursor was."""

    cursor = ""
    """The colour of the cursor's ground, as it is written."""
    drawn = (0.0, 0.0)
    """When it was last written, in seconds of the clock and of the process's own work."""

    def write(self, data: str) -> None:
        super().write(data)
        if Listener.cursor in data:
            Listener.drawn = time.perf_counter(), time.process_time()


class Stage(WorkbenchApp):
    """The workbench in such a terminal."""

    def get_driver_class(self) -> type[Driver]:
        return Listener


def comparison_of(services: Services) -> Comparison:
    """Eight columns that are all sent at once."""
    endpoint = replace(services.endpoint, concurrency=MOST_COLUMNS)
    columns = [
        Column(f"column {place}", endpoint, "", Parameters({"temperature": place / 10, "logprobs": 5}))
        for place in range(MOST_COLUMNS)
    ]
    jobs = plan([TextPrompt("The lighthouse keeper opened the door and")], columns, "bench")
    return Comparison(services, columns, [job.run for job in jobs], lambda run: None)


async def _press(app: Stage, screen: CompareScreen, key: str) -> tuple[float, float]:
    """Milliseconds from a key to the output that shows the moved cursor: all, and this process's own."""
    view = screen.current.view
    before, began, worked = view.cursor, time.perf_counter(), time.process_time()
    app.post_message(Key(key, None))
    while view.cursor == before or Listener.drawn[0] < began:  # noqa: ASYNC110
        await asyncio.sleep(0.0005)
    drawn, done = Listener.drawn
    return (drawn - began) * 1000, (done - worked) * 1000


def ours(url: str) -> tuple[float, float, float]:
    """CPU milliseconds a second; milliseconds from key to screen, p99: all, and this process's own work."""
    services = Services.open(dict(os.environ), url)
    app, found = Stage(services), list[tuple[float, float]]()
    cpu: list[float] = []

    async def job() -> None:
        comparison = comparison_of(services)
        screen = CompareScreen(comparison, app.main._token_styles)
        await app.push_screen(screen)
        while min(run.tokens for run in comparison.runs) < _MIDDLE:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        # As the program does once it stands.
        gc.collect()
        gc.freeze()
        began, worked = time.perf_counter(), time.process_time()
        await asyncio.sleep(_WATCHED)
        cpu.append((time.process_time() - worked) * 1000 / (time.perf_counter() - began))
        ground = app.main._token_styles.cursor.bgcolor
        assert ground is not None
        Listener.cursor = ";".join(ground.get_ansi_codes(foreground=False))
        pauses = random.Random(3)
        screen.current.view.action_token(1)
        for number in range(KEYS):
            await asyncio.sleep(0.05 + pauses.random() * 0.05)
            found.append(await _press(app, screen, "up" if number % 8 == 7 else "left"))
        if not comparison.is_running:
            raise RuntimeError("the streams ended before the measurement")
        await comparison.aclose()
        await app.leave()

    async def main() -> None:
        app.call_later(lambda: app.run_worker(job()))
        await app.run_async(headless=False, size=SIZE)

    asyncio.run(main())
    wall, own = zip(*found, strict=True)
    return cpu[0], percentile(list(wall), 0.99), percentile(list(own), 0.99)


def figures() -> list[Figure]:
    """The time from a key to the screen, and the work of a second."""
    script = (
        "import sys; from tests.bench.columns import ours; print(*ours(sys.argv[1]), file=sys.__stdout__)"
    )
    command = [sys.executable, "-c", "from tests.bench.columns import serve; serve()"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=_ROOT, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        with tempfile.TemporaryDirectory() as home:
            world = {**os.environ, "WORKBENCH_HOME": home, "COLORTERM": "truecolor", "TERM": "xterm-256color"}
            argv = [sys.executable, "-c", script, url]
            done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=_ROOT, env=world)
    finally:
        server.terminate()
        server.wait()
    work, wall, own = map(float, done.stdout.split())
    name = f"compare: {MOST_COLUMNS} columns of {RATE} tokens/s"
    peers = {"this process's own work": own}
    return [
        Figure(f"{name}, key to screen p99", wall, "ms", f"≤ {GOAL:g}", wall <= GOAL, peers),
        Figure(f"{name}, CPU", work, "ms/s", "≤ 1000", work <= 1000),
    ]
