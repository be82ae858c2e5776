"""The saved runs that can be compared: of the open session, and of another one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from workbench.domain.display import one_line
from workbench.domain.errors import StorageError
from workbench.domain.run import Run
from workbench.runner.saved_runs import SavedRun
from workbench.storage.library import Library
from workbench.tui.popups.picker import Item, Late
from workbench.tui.run_items import run_item

_NEWEST = 200
"""Runs of a session that are offered."""


def numbered(runs: Sequence[Run], word: str) -> list[SavedRun]:
    """The runs that have ended, named by `word` and their number in the session where they have no name."""
    titles = [run.name or f"{word} {number}" for number, run in enumerate(runs, 1)]
    return [SavedRun(title, run) for title, run in zip(titles, runs, strict=True) if not run.is_running]


def saved_items(saved: Sequence[SavedRun], newest_first: bool = True) -> list[Item]:
    """The newest runs with their figures, to choose from."""
    shown = list(saved[-_NEWEST:])
    return [run_item(one.run, one.title) for one in (reversed(shown) if newest_first else shown)]


async def other_sessions(library: Library, own: Path | None) -> Late:
    """The sessions that hold runs, without the one whose file is `own`."""
    try:
        listed = await asyncio.to_thread(library.sessions)
    except StorageError as problem:
        return Late([], one_line(str(problem)))
    others = [one for one in listed if not one.error and Path(one.path) != own and one.runs]
    items = [
        Item(one.path, one.title or Path(one.path).stem, f"{one.runs} runs · {one_line(one.text, 60)}")
        for one in others
    ]
    return Late(items, f"{len(items)} other sessions · Enter choose · Esc close")
