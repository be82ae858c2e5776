"""The prompt's editor with a megabyte in it: how long a paste and a key hold everything else up."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable

from textual.app import App
from textual.events import Key, Paste

from tests.bench.figure import Figure, latency, median
from tests.bench.view import perform
from workbench.tui.main.prompt_editor import PromptEditor
from workbench.workspace.services import Services
from workbench.workspace.workspace import Workspace

_ROUNDS = 5
_TEXTS = {
    "in lines": "lorem ipsum dolor sit amet, \n" * 36_000,
    "in one line": "lorem ipsum dolor " * 58_000,
    "in one word": "a" * 1_000_000,
}
"""A megabyte each."""
_TICK = 0.005
_SETTLED = 0.3
"""Seconds after a change in which what it left to be drawn is drawn."""


async def stall(do: Callable[[], object], done: Callable[[], bool]) -> tuple[float, float]:
    """Milliseconds of the longest time for which nothing else had a turn until all is drawn: all, and own."""
    worst, own = 0.0, 0.0

    async def watch() -> None:
        nonlocal worst, own
        while True:
            before, worked = time.perf_counter(), time.thread_time()
            await asyncio.sleep(_TICK)
            worst = max(worst, time.perf_counter() - before - _TICK)
            own = max(own, time.thread_time() - worked)

    watching = asyncio.create_task(watch())
    # The watch has to be asleep when what it watches begins.
    await asyncio.sleep(_TICK)
    do()
    while not done():  # noqa: ASYNC110
        await asyncio.sleep(_TICK)
    await asyncio.sleep(_SETTLED)
    watching.cancel()
    return worst * 1e3, own * 1e3


def _measure(text: str) -> list[tuple[float, float]]:
    """Milliseconds that a megabyte pasted into an empty prompt, and then a key, hold all else up."""
    editor = PromptEditor(Workspace(Services.open(dict(os.environ))))
    stalls: list[tuple[float, float]] = []

    async def job(app: App[None]) -> None:
        await asyncio.sleep(_SETTLED)
        stalls.append(
            await stall(lambda: app.post_message(Paste(text)), lambda: len(editor.text) == len(text))
        )
        stalls.append(
            await stall(lambda: app.post_message(Key("x", "x")), lambda: len(editor.text) > len(text))
        )

    perform(editor, job)
    return stalls


def figures() -> list[Figure]:
    """The longest stalls, medians of five new editors."""
    rows = []
    for shape, text in _TEXTS.items():
        pastes, keys = zip(*(_measure(text) for _ in range(_ROUNDS)), strict=True)
        for name, stalls in (
            ("a megabyte pasted", pastes),
            ("a key in a megabyte", keys),
        ):
            wall, own = (median([stall[index] for stall in stalls]) for index in (0, 1))
            rows.append(latency(f"longest stall, {name} {shape}", wall, own, 100))
    return rows
