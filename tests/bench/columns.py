"""The compare screen while eight columns stream: the time from a key to the screen, and the CPU it takes."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from textual.driver import Driver

from tests.bench.figure import Figure, latency, percentile
from tests.bench.terminal import server
from tests.bench.view import Sink, pressed
from workbench.cli import garbage_collection
from workbench.cli.screen import Started
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import TextPrompt
from workbench.runner.compare_plan import Column, plan
from workbench.tui.app import WorkbenchApp
from workbench.tui.compare.screen import CompareScreen
from workbench.workspace.comparison import MOST_COLUMNS, Comparison
from workbench.workspace.services import Services
from workbench.workspace.workspace import Workspace

RATE = 200
"""Tokens a second and column."""
SECONDS = 60.0
"""How long the server streams; the measurement is over before."""
SIZE = (200, 50)
KEYS = 100
GOAL = 50.0
"""Milliseconds from key to screen that 99 of 100 must not exceed."""
MOST_WORK = 500
"""Milliseconds of processor time a second: half a core."""
_MIDDLE = 400
"""Tokens of each column before the measurement begins."""
_LEAST_FRAMES = 25
"""Frames a second, of 30, without which the CPU says nothing."""
_WATCHED = 4.0
"""Seconds in which the CPU is watched."""

_ROOT = Path(__file__).parents[2]


class Stage(Started):
    """The workbench as it is started, in a terminal that swallows what is drawn."""

    def get_driver_class(self) -> type[Driver]:
        return Sink


def comparison_of(workspace: Workspace) -> Comparison:
    """Eight columns that are all sent at once."""
    endpoint = workspace.services.endpoint._replace(concurrency=MOST_COLUMNS)
    columns = [
        Column(f"column {index}", endpoint, "", Parameters({"temperature": index / 10, "logprobs": 5}))
        for index in range(MOST_COLUMNS)
    ]
    jobs = plan([TextPrompt("The lighthouse keeper opened the door and")], columns, "bench")
    return Comparison(workspace, columns, [job.run for job in jobs])


def ours(url: str) -> tuple[float, float, float, float]:
    """CPU milliseconds and frames a second; milliseconds from key to screen, p99: all, and own work."""
    services = Services.open(dict(os.environ), url)
    app, found = Stage(services), list[tuple[float, float]]()
    cpu: list[float] = []

    async def job() -> None:
        comparison = comparison_of(app.workspace)
        app.workspace.runs.under_way.append(comparison)
        screen = CompareScreen(comparison)
        await app.push_screen(screen)
        while min(run.tokens for run in comparison.runs) < _MIDDLE:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        began, worked, drawn = time.perf_counter(), time.process_time(), screen._drawn
        await asyncio.sleep(_WATCHED)
        took = time.perf_counter() - began
        cpu.extend(((time.process_time() - worked) * 1000 / took, (screen._drawn - drawn) / took))
        ground = app.token_styles.cursor.bgcolor
        assert ground is not None
        mark = ";".join(ground.get_ansi_codes(foreground=False))
        pauses = random.Random(3)
        screen.current.view.action_follow()
        for number in range(KEYS):
            await asyncio.sleep(0.05 + pauses.random() * 0.05)
            key = "up" if number % 8 == 7 else "left"
            found.append(await pressed(app, screen.current.view, key, mark))
        if not comparison.is_running:
            raise RuntimeError("the streams ended before the measurement")
        await comparison.aclose()
        # `Started` would end the process soon afterwards.
        await WorkbenchApp.leave(app)

    async def main() -> None:
        app.call_later(lambda: app.run_worker(job()))
        await app.run_async(headless=False, size=SIZE)

    with garbage_collection.held():
        asyncio.run(main())
    if app.return_code:
        raise RuntimeError("the workbench failed")
    wall, own = zip(*found, strict=True)
    return cpu[0], cpu[1], percentile(list(wall), 0.99), percentile(list(own), 0.99)


def figures() -> list[Figure]:
    """The time from a key to the screen, and the work of a second."""
    script = (
        "import sys; from tests.bench.columns import ours; print(*ours(sys.argv[1]), file=sys.__stdout__)"
    )
    with server(RATE, SECONDS) as url, tempfile.TemporaryDirectory() as home:
        world = {**os.environ, "WORKBENCH_HOME": home, "COLORTERM": "truecolor", "TERM": "xterm-256color"}
        argv = [sys.executable, "-c", script, url]
        done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True, cwd=_ROOT, env=world)
    work, frames, wall, own = map(float, done.stdout.split())
    name = f"compare: {MOST_COLUMNS} columns of {RATE} tokens/s"
    return [
        latency(f"{name}, key to screen p99", wall, own, GOAL),
        # Where the machine leaves it no time for its frames, it draws less and seems to cost less.
        Figure(
            f"{name}, CPU",
            work,
            "ms/s",
            f"≤ {MOST_WORK} ms/s, at {_LEAST_FRAMES} frames a second or more",
            work <= MOST_WORK and frames >= _LEAST_FRAMES,
            {"frames a second": frames},
        ),
    ]
