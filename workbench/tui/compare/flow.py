"""Comparing: presets on one prompt, a run with itself sent again, and runs that are over."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from workbench.domain.display import one_line
from workbench.domain.errors import BadValueError, StorageError
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
from workbench.tui.branches.flow import run_item, send_branch
from workbench.tui.compare.columns import choose_columns, endpoint_of, with_seeds
from workbench.tui.compare.screen import Adopted, CompareScreen, RerunScreen
from workbench.tui.flows import FlowContext
from workbench.tui.popups.multi_picker import MultiPicker, Selection
from workbench.tui.popups.picker import Item, Late, Picker
from workbench.tui.popups.result_screen import ResultScreen
from workbench.workspace.comparison import LEAST_COLUMNS, MOST_COLUMNS, Comparison
from workbench.workspace.costs import cost_of, cost_of_jobs
from workbench.workspace.rerun import Rerun

_ANOTHER = "\0another"
"""Stands for another session among ids of runs, none of which can hold this character."""


async def compare(flow: FlowContext) -> None:
    """Compare presets on the draft's prompt; on several prompts, in a grid."""
    request = request_to_compare(flow)
    if count_prompts(request.prompt) > 1:
        from workbench.tui.grid.flow import compare_prompts

        await compare_prompts(flow, request)
    else:
        await compare_request(flow, request)


def request_to_compare(flow: FlowContext) -> Request:
    """The draft's request. Raises BadValueError while something streams, or where it cannot be sent."""
    flow.refuse_while_streaming()
    return flow.workspace.request


async def compare_request(
    flow: FlowContext,
    request: Request,
    stop: tuple[str, ...] = (),
    before_kept: Callable[[Run], None] = lambda run: None,
) -> None:
    """Choose presets, say what they cost, run them side by side, adopt a column.

    `before_kept` is told each run that has ended, however it did, before the session keeps it.
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
    """Show columns or cells until a person leaves them, and continue with what they adopt or branch from."""
    async with flow.running(comparison):
        adopted = await flow.ask(screen)
        comparison.stop()
        if adopted is not None and adopted.column is not None:
            flow.workspace.drafting.adopt(adopted.column)
    if adopted is not None and adopted.branch is not None:
        await send_branch(flow, adopted.branch.origin)


async def rerun(flow: FlowContext, run: Run | None = None) -> None:
    """Send a run again as it was, the one under the cursor where none is named, and compare the two."""
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


def refuse_running(run: Run) -> None:
    """Raises BadValueError where a run has not ended."""
    if run.is_running:
        raise BadValueError("The run is still streaming", hint="Wait for its end, or stop it with Esc.")


async def compare_runs(flow: FlowContext) -> None:
    """Choose saved runs of the open session, or of another one too, and compare them; nothing is sent."""
    saved = numbered(flow.workspace.runs, "run")
    answer = flow.workspace.runs.answer
    shown = answer[0] if answer is not None else None
    indices = [index for index, saved_run in enumerate(saved) if saved_run.run is shown]
    chosen = [saved[index].run.id for index in (indices[0] - 1, indices[0]) if index >= 0] if indices else []
    items = [Item(_ANOTHER, "another session…", "choose runs of it next"), *saved_items(saved)]
    picker = MultiPicker("Compare runs", items, Selection(tuple(chosen)), least=1, most=MOST_COLUMNS + 1)
    taken = await flow.ask(picker)
    if taken is None:
        return
    mine = [saved_run for saved_run in saved if saved_run.run.id in taken.values]
    if _ANOTHER not in taken.values:
        await compare_saved(flow, mine)
    elif (path := await flow.ask(_other_sessions(flow))) is not None:
        await compare_session(flow, Path(path), mine)


async def compare_session(flow: FlowContext, path: Path, mine: Sequence[SavedRun] = ()) -> None:
    """Choose runs of another session's file, and compare them with `mine`.

    Without any of the open session the newest of them are offered too.
    """
    try:
        theirs = numbered(await asyncio.to_thread(read_runs, path), one_line(path.stem, 24))
    except StorageError as problem:
        flow.fail(problem, "Session")
        return
    # The same run may be in both files, so that its id alone does not tell them apart.
    offered = [*theirs, *([] if mine else numbered(flow.workspace.runs, "run"))]
    shown = saved_items(offered, newest_first=False)
    items = [Item(f"{index}", item.title, item.detail) for index, item in enumerate(shown)]
    title = f"Compare with runs of {path.stem}"
    picker = MultiPicker(title, items, Selection(), least=1 if mine else LEAST_COLUMNS, most=MOST_COLUMNS)
    if (taken := await flow.ask(picker)) is not None:
        await compare_saved(flow, [*mine, *(offered[int(index)] for index in taken.values)])


def _other_sessions(flow: FlowContext) -> Picker:
    more = partial(other_sessions, Library(flow.services.folders), flow.workspace.keeper.path)
    return Picker("Compare with a run of", [], note="reading…", more=more)


async def compare_saved(
    flow: FlowContext,
    saved: Sequence[SavedRun],
    notes: Sequence[str] = (),
    second: SecondScoring | None = None,
) -> None:
    """Show runs that are over beside each other, with what else is to be known of them.

    Where they are two models' scorings of one text, `second` says how they differ at each token.
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
"""Runs of a session that are offered."""


def numbered(runs: Sequence[Run], word: str) -> list[SavedRun]:
    """The runs that have ended, named by `word` and their number in the session where they have no name."""
    titles = [run.name or f"{word} {number}" for number, run in enumerate(runs, 1)]
    return [SavedRun(title, run) for title, run in zip(titles, runs, strict=True) if not run.is_running]


def saved_items(saved: Sequence[SavedRun], newest_first: bool = True) -> list[Item]:
    """The newest runs with their figures, to choose from."""
    shown = list(saved[-_NEWEST:])
    ordered = reversed(shown) if newest_first else shown
    return [run_item(saved_run.run, saved_run.title) for saved_run in ordered]


async def other_sessions(library: Library, own: Path | None) -> Late:
    """The sessions that hold runs, without the one whose file is `own`."""
    try:
        listed = await asyncio.to_thread(library.sessions)
    except StorageError as problem:
        return Late([], one_line(str(problem)))
    others = [
        session for session in listed if not session.error and Path(session.path) != own and session.runs
    ]
    items = [
        Item(
            session.path,
            session.title or Path(session.path).stem,
            f"{session.runs} runs · {one_line(session.text, 60)}",
        )
        for session in others
    ]
    return Late(items, f"{len(items)} other sessions · Enter choose · Esc close")
