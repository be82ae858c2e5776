"""From runs that are over to the compare screen: runs of the open session, and of another one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from textual.app import App

from workbench.domain.display import one_line
from workbench.domain.errors import StorageError
from workbench.domain.run import Run
from workbench.runner.saved import SavedRun, saved_column, saved_remarks
from workbench.storage.library import Library
from workbench.storage.session_file import read_runs
from workbench.tui.comparison import MOST_COLUMNS, Comparison
from workbench.tui.run_state import figures_of
from workbench.tui.screens.choosing_several import SeveralPicker
from workbench.tui.screens.compare import Adopted, CompareScreen
from workbench.tui.screens.popup import Item, Picker
from workbench.tui.services import Services
from workbench.tui.token_styles import TokenStyles

_ANOTHER = "\0another"
"""Stands for another session among ids of runs, none of which can hold this character."""
_NEWEST = 200
"""Runs of a session that are offered."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The open session's runs, and who is told what comes of comparing them."""

    app: App[int]
    services: Services
    styles: TokenStyles
    runs: Sequence[Run]
    """Those that are over, the oldest first."""
    path: Path | None
    """The open session's file."""
    on_adopt: Callable[[Adopted], None]


def compare_runs(session: Compared, first: Run | None = None) -> None:
    """Let a person choose runs of the open session, and open the comparison of them.

    `first` is chosen from the beginning; so is the one before it. Another session may be chosen to go on in.
    """
    saved = _numbered(session.runs, "run")
    places = [place for place, one in enumerate(saved) if one.run is first]
    chosen = [saved[place].run.id for place in (places[0] - 1, places[0]) if place >= 0] if places else []
    items = [Item(_ANOTHER, "another session…", "choose runs of it next"), *_items(saved)]

    def taken(ids: Sequence[str] | None) -> None:
        if ids is None:
            return
        mine = [one for one in saved if one.run.id in ids]
        if _ANOTHER in ids:
            _choose_session(session, lambda path: compare_with(session, path, mine))
        else:
            _open(session, mine)

    most = MOST_COLUMNS + 1
    session.app.push_screen(SeveralPicker("Compare runs", items, chosen, least=1, most=most), taken)


def compare_with(session: Compared, path: Path, mine: Sequence[SavedRun] = ()) -> None:
    """Let a person choose runs of another session's file, to compare them with `mine`.

    Without any of the open session the newest of them are offered too.
    """

    async def read() -> None:
        try:
            runs = await asyncio.to_thread(read_runs, path)
        except StorageError as problem:
            session.app.notify(str(problem), title="Session", severity="error", markup=False)
            return
        choose(_numbered(runs, one_line(path.stem, 24)))

    def choose(theirs: list[SavedRun]) -> None:
        # The same run may be in both files, so that its id alone tells nothing.
        offered = [*theirs, *([] if mine else _numbered(session.runs, "run"))]
        items = [
            Item(f"{place}", item.title, item.detail) for place, item in enumerate(_items(offered, False))
        ]

        def taken(places: Sequence[str] | None) -> None:
            if places is not None:
                _open(session, [*mine, *(offered[int(place)] for place in places)])

        title = f"Compare with runs of {path.stem}"
        picker = SeveralPicker(title, items, [], least=1 if mine else 2, most=MOST_COLUMNS)
        session.app.push_screen(picker, taken)

    session.app.run_worker(read(), group="compare", exclusive=True)


def _numbered(runs: Sequence[Run], word: str) -> list[SavedRun]:
    titles = [run.name or f"{word} {number}" for number, run in enumerate(runs, 1)]
    return [SavedRun(title, run) for title, run in zip(titles, runs, strict=True) if not run.is_running]


def _items(saved: Sequence[SavedRun], newest_first: bool = True) -> list[Item]:
    shown = list(saved[-_NEWEST:])
    return [
        Item(one.run.id, one.title, f"{one.run.preset or '—'} · {figures_of(one.run)} · {_text(one.run)}")
        for one in (reversed(shown) if newest_first else shown)
    ]


def _text(run: Run) -> str:
    return one_line(run.ordered[0].text if run.choices else "no answer", 60)


def _choose_session(session: Compared, take: Callable[[Path], None]) -> None:
    async def ask(picker: Picker) -> None:
        try:
            listed = await asyncio.to_thread(Library(session.services.folders).sessions)
        except StorageError as problem:
            picker.add_items([], one_line(str(problem)))
            return
        others = [one for one in listed if not one.error and Path(one.path) != session.path and one.runs]
        items = [
            Item(one.path, one.title or Path(one.path).stem, f"{one.runs} runs · {one_line(one.text, 60)}")
            for one in others
        ]
        picker.add_items(items, f"{len(items)} other sessions · Enter · Esc")

    def chosen(path: str | None) -> None:
        if path is not None:
            take(Path(path))

    picker = Picker("Compare with a run of", [], note="reading…", on_open=ask)
    session.app.push_screen(picker, chosen)


def _open(session: Compared, saved: Sequence[SavedRun]) -> None:
    if not 2 <= len(saved) <= MOST_COLUMNS:
        told = f"A comparison has 2 to {MOST_COLUMNS} runs, not {len(saved)}."
        session.app.notify(told, title="Compare", severity="warning", markup=False)
        return
    columns = [saved_column(one, session.services.endpoints) for one in saved]
    runs = [one.run for one in saved]
    comparison = Comparison(session.services, columns, runs, lambda run: None, saved_remarks(runs))

    def closed(adopted: Adopted | None) -> None:
        if adopted is not None:
            session.on_adopt(adopted)

    screen = CompareScreen(comparison, session.styles, "saved runs: nothing is sent")
    session.app.push_screen(screen, closed)
