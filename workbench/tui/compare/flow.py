"""Compare presets on a prompt, a run with its re-run, or saved runs."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from workbench.domain.display import one_line, plural
from workbench.domain.errors import StorageError
from workbench.domain.prompt import count_prompts, single_prompts
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.domain.scoring import SecondScoring
from workbench.runner.compare_plan import (
    SavedRun,
    adding,
    ignored,
    plan,
    probes_of,
    saved_column,
    saved_remarks,
)
from workbench.storage.session_file import read_runs
from workbench.storage.sessions_folder import Library
from workbench.tui.branches.flow import send_branch
from workbench.tui.compare.choose_columns import choose_columns, endpoint_of, with_seeds
from workbench.tui.compare.screen import Adopted, CompareScreen, RerunScreen
from workbench.tui.flows import FlowContext
from workbench.tui.popups.multi_picker import MultiPicker, Selection
from workbench.tui.popups.picker import Item, Late, Picker
from workbench.tui.popups.result_screen import ResultScreen
from workbench.tui.run.run_list import run_item
from workbench.workspace.comparison import LEAST_COLUMNS, MOST_COLUMNS, Comparison
from workbench.workspace.costs import cost_of, cost_of_jobs
from workbench.workspace.rerun import Rerun
from workbench.workspace.runs import refuse_running

_ANOTHER = "\0another"
"""The list's value for another session; no run id contains this character."""


async def compare(flow: FlowContext) -> None:
    """Compare presets on the draft's prompt, or in a grid if the draft has several."""
    request = request_to_compare(flow)
    if count_prompts(request.prompt) > 1:
        from workbench.tui.grid.flow import compare_prompts

        await compare_prompts(flow, request)
    else:
        await compare_request(flow, request)


def request_to_compare(flow: FlowContext) -> Request:
    """Return the draft's request. Raises BadValueError if it cannot be sent, or while a run streams."""
    flow.refuse_while_streaming()
    return flow.workspace.request


async def compare_request(
    flow: FlowContext,
    request: Request,
    stop: tuple[str, ...] = (),
    before_kept: Callable[[Run], None] = lambda run: None,
) -> None:
    """Choose presets, confirm the cost, run them side by side, and adopt a column.

    `before_kept` receives each run that ends, whatever its outcome, before the session saves it.
    """
    taken = await choose_columns(flow, request, "Compare")
    if taken is None:
        return
    prompts = single_prompts(request.prompt)
    if stop:
        taken = replace(taken, columns=[adding(column, "stop", stop) for column in taken.columns])
    columns, seed, replaced = with_seeds(taken)
    jobs = plan(prompts, columns, uuid.uuid4().hex)
    if not await flow.agreed(cost_of_jobs(jobs)):
        return
    notes = [
        *(["one answer a column: n and best_of are not sent"] if request.choices > 1 else []),
        *(f"{one_line(column.title, 40)}: own seed replaced by the shared seed" for column in replaced),
        *ignored(columns, probes_of(flow.services.folders, columns)),
    ]
    runs = [job.run for job in jobs]
    comparison = Comparison(flow.workspace, columns, runs, notes, before_kept=before_kept)
    await show_under_way(flow, comparison, CompareScreen(comparison, seed))


async def show_under_way(
    flow: FlowContext, comparison: Comparison, screen: ResultScreen[Adopted | None]
) -> None:
    """Show a comparison or grid until it is closed; then adopt the column returned, and send its branch."""
    async with flow.running(comparison):
        adopted = await flow.ask(screen)
        comparison.stop()
        if adopted is not None and adopted.column is not None:
            flow.workspace.drafting.adopt(adopted.column)
    if adopted is not None and adopted.branch is not None:
        await send_branch(flow, adopted.branch.origin)


async def rerun(flow: FlowContext, run: Run | None = None) -> None:
    """Send a run again unchanged, by default the one under the cursor, and compare the answers."""
    if run is None and (answer := flow.workspace.runs.one_answer()) is not None:
        run = answer[0]
    if run is None:
        return
    flow.refuse_while_streaming()
    refuse_running(run)
    endpoint = endpoint_of(flow, run.endpoint)
    if not await flow.agreed(cost_of(endpoint, run.request, run.split)):
        return
    again = Rerun(flow.workspace, endpoint, run)
    await show_under_way(flow, again, RerunScreen(again))


async def compare_runs(flow: FlowContext) -> None:
    """Choose saved runs of this session, and optionally of another, and compare them; nothing is sent."""
    saved = numbered(flow.workspace.runs, "run")
    chosen: list[str] = []
    if (answer := flow.workspace.runs.answer) is not None:
        # The run under the cursor and the one before it.
        last = next((index for index, saved_run in enumerate(saved) if saved_run.run is answer[0]), -1)
        chosen = [saved_run.run.id for saved_run in saved[max(last - 1, 0) : last + 1]]
    items = [Item(_ANOTHER, "another session…", "choose runs of it next"), *saved_items(saved)]
    picker = MultiPicker("Compare runs", items, Selection(tuple(chosen)), least=1, most=MOST_COLUMNS + 1)
    taken = await flow.ask(picker)
    if taken is None:
        return
    mine = [saved_run for saved_run in saved if saved_run.run.id in taken.values]
    if _ANOTHER not in taken.values:
        await compare_saved(flow, mine)
        return
    more = partial(other_sessions, Library(flow.services.folders), flow.workspace.keeper.path)
    path = await flow.ask(Picker("Compare with a run of", [], note="reading…", more=more))
    if path is not None:
        await compare_session(flow, Path(path), mine)


async def compare_session(flow: FlowContext, path: Path, mine: Sequence[SavedRun] = ()) -> None:
    """Choose runs of another session's file, and compare them with `mine`.

    If `mine` is empty, the newest runs of this session are offered too.
    """
    try:
        theirs = numbered(await asyncio.to_thread(read_runs, path), one_line(path.stem, 24))
    except StorageError as problem:
        flow.fail(problem, "Session")
        return
    # By index, not by id: the same run may be in both sessions.
    offered = [*theirs, *([] if mine else numbered(flow.workspace.runs, "run"))]
    shown = saved_items(offered, newest_first=False)
    items = [Item(f"{index}", item.title, item.detail) for index, item in enumerate(shown)]
    title = f"Compare with runs of {path.stem}"
    picker = MultiPicker(title, items, Selection(), least=1 if mine else LEAST_COLUMNS, most=MOST_COLUMNS)
    if (taken := await flow.ask(picker)) is not None:
        await compare_saved(flow, [*mine, *(offered[int(index)] for index in taken.values)])


async def compare_saved(
    flow: FlowContext,
    saved: Sequence[SavedRun],
    notes: Sequence[str] = (),
    second: SecondScoring | None = None,
) -> None:
    """Show finished runs side by side, with notes on them; nothing is sent.

    `second` is the difference between two scorings of the same text, if the runs are such.
    """
    if not LEAST_COLUMNS <= len(saved) <= MOST_COLUMNS:
        flow.warn(f"A comparison has {LEAST_COLUMNS} to {MOST_COLUMNS} runs, not {len(saved)}.", "Compare")
        return
    columns = [saved_column(saved_run, flow.services.endpoints) for saved_run in saved]
    runs = [saved_run.run for saved_run in saved]
    notes = notes if second is not None else [*notes, *saved_remarks(runs)]
    comparison = Comparison(flow.workspace, columns, runs, notes, is_scoring=second is not None)
    screen = CompareScreen(comparison, "saved runs: nothing is sent", second)
    await show_under_way(flow, comparison, screen)


_NEWEST = 200
"""The most runs of a session that are offered."""


def numbered(runs: Sequence[Run], word: str) -> list[SavedRun]:
    """Return the finished runs with titles: their names, else `word` and their numbers in the session."""
    titles = [run.name or f"{word} {number}" for number, run in enumerate(runs, 1)]
    return [SavedRun(title, run) for title, run in zip(titles, runs, strict=True) if not run.is_running]


def saved_items(saved: Sequence[SavedRun], newest_first: bool = True) -> list[Item]:
    """Return list items for the newest runs, with their figures."""
    shown = saved[-_NEWEST:]
    ordered = reversed(shown) if newest_first else shown
    return [run_item(saved_run.run, saved_run.title) for saved_run in ordered]


async def other_sessions(library: Library, own: Path | None) -> Late:
    """Find the sessions that have runs, except the one with the path `own`."""
    try:
        listed = await asyncio.to_thread(library.sessions)
    except StorageError as problem:
        return Late([], one_line(problem.paragraph))
    others = [
        session for session in listed if not session.error and Path(session.path) != own and session.runs
    ]
    items = [
        Item(
            session.path,
            session.title or Path(session.path).stem,
            f"{plural(session.runs, 'run')} · {one_line(session.text, 60)}",
        )
        for session in others
    ]
    return Late(items, f"{plural(len(items), 'other session')} · Enter choose · Esc close")
