"""What grows with use: sweeps of 2,000 and 10,000 cells, a search, a session of 200 runs opened."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from textual.app import App

from tests.bench.columns import Stage
from tests.bench.editor import stall
from tests.bench.figure import Figure, latency, median
from tests.bench.sessions import run_of_tokens
from tests.bench.terminal import server
from tests.bench.view import Sink, drawn, filled, perform, view_of
from workbench.cli import garbage_collection
from workbench.domain.choice import Alternative, ReceivedToken
from workbench.domain.endpoint import Endpoint
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Outcome, Run
from workbench.domain.sweep import Axis, Sweep
from workbench.runner.compare_plan import Column
from workbench.runner.resume import sweep_again
from workbench.storage.session_store import SessionStore
from workbench.tui.app import WorkbenchApp
from workbench.tui.grid.screen import GridScreen
from workbench.workspace.grid import Grid, Layout
from workbench.workspace.services import Services
from workbench.workspace.workspace import Workspace

_ROUNDS = 5
_ROWS, _ACROSS = 100, 20
_TOKENS = 20
"""Of each cell's answer."""
_MANY = 10_000
"""Cells that are held."""
_MOST_MB = 200
_AT_ONCE = 16
_LONG = 1_000_000
_RUNS, _TOKENS_OF_RUN = 200, 500
"""Of the session that is opened."""
_NAME = f"grid of {_ROWS * _ACROSS:,} cells"


def _sweep(columns: int = _ACROSS) -> Sweep:
    rows = Axis("temperature", tuple(index / 100 for index in range(_ROWS)))
    across = Axis("top_p", tuple((index + 1) / columns for index in range(columns)))
    return Sweep(Request(TextPrompt("Once"), parameters=Parameters({"max_tokens": _TOKENS})), (rows, across))


def _answer(run: Run) -> None:
    """End a run as one that was answered."""
    for index in range(_TOKENS):
        run.choice(0).append(ReceivedToken(f" word{index}", -(hash(run.id) % 100 + index) / 50), index / 80)
    run.outcome, run.total = Outcome.COMPLETE, 1.0


def _resume() -> Figure:
    """How long it takes to find the answered cells of a sweep among a session's runs."""
    endpoint = Endpoint("bench", "http://127.0.0.1:9/v1")
    kept = [job.run for job in sweep_again(_sweep(), endpoint, [])]
    for run in kept:
        _answer(run)
    wall, own = list[float](), list[float]()
    for _ in range(_ROUNDS):
        began, worked = time.perf_counter(), time.thread_time()
        jobs = sweep_again(_sweep(), endpoint, kept)
        wall.append((time.perf_counter() - began) * 1e3)
        own.append((time.thread_time() - worked) * 1e3)
        assert all(job.run.outcome is Outcome.COMPLETE for job in jobs)
    return latency(f"resuming a sweep of {_ROWS * _ACROSS:,} cells", median(wall), median(own), 50)


def hold() -> None:
    """Hold a sweep of 10,000 answered cells, each token with 5 alternatives; prints the peak in MB."""
    jobs = sweep_again(_sweep(_MANY // _ROWS), Endpoint("bench", "http://127.0.0.1:9/v1"), [])
    for number, job in enumerate(jobs):
        for index in range(_TOKENS):
            others = [Alternative(f" word{(number + index + rank) % 999}", -0.3 - rank) for rank in range(5)]
            job.run.choice(0).append(ReceivedToken(others[0].text, others[0].logprob, others), index / 80)
        job.run.outcome, job.run.total = Outcome.COMPLETE, 1.0
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def _held() -> Figure:
    """The memory of a process with 10,000 cells, the program's modules included."""
    script = "from tests.bench.growth import hold; hold()"
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=root
    )
    size = float(done.stdout)
    return Figure(f"memory with {_MANY:,} answered cells", size, "MB", f"≤ {_MOST_MB} MB", size <= _MOST_MB)


class _Shown(App[None]):
    """Nothing but a grid, half of whose cells are answered while the others stream."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(driver_class=Sink)
        self._workspace = workspace
        self.opened = (0.0, 0.0)
        """Milliseconds until its cells are drawn: all, and own work."""
        self.refreshes = list[tuple[float, float]]()

    def on_ready(self) -> None:
        self.run_worker(self._measure())

    async def _measure(self) -> None:
        endpoint = self._workspace.services.endpoint._replace(concurrency=_AT_ONCE)
        runs = [job.run for job in sweep_again(_sweep(), endpoint, [])]
        for run in runs[::2]:
            _answer(run)
        columns = [Column("cell", endpoint, "", run.request.parameters) for run in runs]
        rows, across = (tuple(map(str, range(size))) for size in (_ROWS, _ACROSS))
        layout = Layout("Sweep", "Once", "temperature", rows, across)
        grid = Grid(self._workspace, layout, columns, runs)
        screen = GridScreen(grid)

        def is_shown(data: str) -> bool:
            text = screen.table.cells[0].text if screen.is_mounted else ""
            return bool(text) and f" {text} " in data

        self.opened = await drawn(lambda: self.push_screen(screen), is_shown)
        while sum(run.tokens > 0 for run in runs[1::2]) < _AT_ONCE:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        for _ in range(20):
            await asyncio.sleep(0.05)
            began, worked = time.perf_counter(), time.thread_time()
            screen._look()
            self.refreshes.append(((time.perf_counter() - began) * 1e3, (time.thread_time() - worked) * 1e3))
        await grid.aclose()
        await self._workspace.aclose()
        self.exit()


def _grid() -> list[Figure]:
    opened, refreshes = list[tuple[float, float]](), list[tuple[float, float]]()
    with server(20, 60) as url, tempfile.TemporaryDirectory() as home:
        for _ in range(_ROUNDS):
            app = _Shown(Workspace(Services.open({**os.environ, "WORKBENCH_HOME": home}, url)))
            asyncio.run(app.run_async(headless=False, size=(200, 50)))
            if app.return_code:
                raise RuntimeError("the benchmark's application failed")
            opened.append(app.opened)
            refreshes += app.refreshes
    rows = []
    for name, taken, most in (("opened", opened, 150), ("a refresh while 16 stream", refreshes, 5)):
        wall, own = (median([pair[index] for pair in taken]) for index in (0, 1))
        rows.append(latency(f"{_NAME}, {name}", wall, own, most))
    return rows


def _search_stall() -> tuple[float, float]:
    """Milliseconds of the longest hold-up while a text is looked for that is not there: all, and own."""
    view = view_of(filled(_LONG)[1])
    stalls = list[tuple[float, float]]()

    async def search() -> None:
        assert not await view.find("a text that is nowhere")

    async def job(app: App[None]) -> None:
        tasks = list[asyncio.Task[None]]()

        def start() -> None:
            tasks.append(asyncio.create_task(search()))

        stalls.append(await stall(start, lambda: all(task.done() for task in tasks)))

    perform(view, job)
    return stalls[0]


def _opening_stall(path: Path) -> tuple[float, float]:
    """Milliseconds of the longest hold-up while a session of many runs is opened: all, and own."""
    app = Stage(Services.open({**os.environ, "WORKBENCH_HOME": str(path.parent)}))
    stalls = list[tuple[float, float]]()

    async def job() -> None:
        await asyncio.sleep(1)
        output, tasks = app.main.output, list[asyncio.Task[None]]()

        def is_open() -> bool:
            return len(output.runs) == _RUNS and output.view.is_settled

        def start() -> None:
            tasks.append(asyncio.create_task(app.main.open_session(path)))

        stalls.append(await stall(start, is_open))
        # `Started` would end the process soon afterwards.
        await WorkbenchApp.leave(app)

    async def main() -> None:
        app.call_later(lambda: app.run_worker(job()))
        await app.run_async(headless=False, size=(120, 40))

    with garbage_collection.held():
        asyncio.run(main())
    if app.return_code:
        raise RuntimeError("the workbench failed")
    return stalls[0]


def _opening() -> Figure:
    run = run_of_tokens(_TOKENS_OF_RUN)
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / "many.toml"
        store = SessionStore.create(path)
        for number in range(_RUNS):
            store.finish(replace(run, id=f"{number:032x}"))
        store.close()
        wall, own = zip(*(_opening_stall(path) for _ in range(_ROUNDS)), strict=True)
    name = f"longest stall, a session of {_RUNS} runs of {_TOKENS_OF_RUN} tokens opened"
    return latency(name, median(list(wall)), median(list(own)), 50)


def figures() -> list[Figure]:
    """The figures of all that grows."""
    wall, own = _search_stall()
    return [
        _resume(),
        _held(),
        *_grid(),
        latency(f"longest stall, a text not found in {_LONG:,} tokens", wall, own, 50),
        _opening(),
    ]
