"""Run a parameter sweep or a prompt set, without sending again what the session has already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from workbench.domain.display import plural
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.parameter_values import format_value, whole_number
from workbench.domain.prompt import TextPrompt, TokensPrompt, prompt_to_editor, single_prompts
from workbench.domain.request import Request
from workbench.domain.run_group import GroupKind, RunGroup
from workbench.domain.sweep import Sweep, parse_axis
from workbench.runner.compare_plan import Column, SavedRun, ignored, probes_of
from workbench.runner.many_runs import Job
from workbench.runner.resume import compare_again, sweep_again
from workbench.storage.prompt_sets import read_prompts
from workbench.tui.compare.choose_columns import check_columns, choose_columns
from workbench.tui.compare.flow import compare_saved, request_to_compare, show_under_way
from workbench.tui.flows import FlowContext
from workbench.tui.grid.screen import GridScreen
from workbench.tui.popups.question import Form, FormLine
from workbench.workspace.comparison import LEAST_COLUMNS, MOST_COLUMNS
from workbench.workspace.grid import Grid, Layout, newest_answers, saved_grid

MOST_REQUESTS = 2000
"""The most requests of one grid."""
_EDITOR = "the editor's prompts"
"""Name of the prompt set from the editor."""


@dataclass(frozen=True, slots=True)
class PromptSet:
    """Prompts to run with several presets."""

    name: str
    """The file's name, or that of the editor's prompts."""
    prompts: tuple[TextPrompt | TokensPrompt, ...]


async def sweep(flow: FlowContext) -> None:
    """Vary one or two parameters of the draft; requests that the session has answers for are not sent."""
    request, endpoint = request_to_compare(flow), flow.workspace.drafting.endpoint
    first, second, repeats = flow.workspace.typed_axes
    entries = [
        FormLine("Rows: FIELD=LOW:HIGH:STEP or FIELD=VALUE,VALUE", first, "temperature=0:1.5:0.25"),
        FormLine("Columns, if any", second, "top_p=0.5,1"),
        FormLine(f"Requests a cell, 1 to {MOST_COLUMNS}", repeats),
    ]
    prompts = single_prompts(request.prompt)
    single = request._replace(prompt=prompts[0])
    taken = await flow.ask(Form("Sweep", entries, partial(_read_sweep, single, endpoint)))
    if taken is None:
        return
    flow.workspace.typed_axes, planned = taken
    jobs = sweep_again(planned, endpoint, flow.workspace.runs)
    notes = [f"only the first of {len(prompts)} prompts is sent"] if len(prompts) > 1 else []
    layout = Layout.of_sweep(planned, prompt_to_editor(single.prompt))
    await _open(flow, layout, _sweep_columns(planned, jobs), jobs, notes)


def _read_sweep(request: Request, endpoint: Endpoint, typed: Sequence[str]) -> tuple[tuple[str, ...], Sweep]:
    """Parse the form's lines; return them and the sweep. Raises BadValueError."""
    first, second, repeats = typed
    axes = tuple(parse_axis(text) for text in (first, second) if text or text is first)
    if len({axis.field for axis in axes}) < len(axes):
        raise BadValueError("Rows and columns vary the same field", hint="Vary two different ones.")
    count = whole_number(repeats)
    if count is None or not 1 <= count <= MOST_COLUMNS:
        raise BadValueError(f"A cell has 1 to {MOST_COLUMNS} requests", f"Not {repeats!r}.")
    planned = Sweep(request, axes, count)
    _refuse_too_many(planned.size)
    check_columns(
        [
            Column(axis.field, endpoint, "", request.parameters.set(axis.field, value))
            for axis in axes
            for value in axis.values
        ]
    )
    return tuple(typed), planned


def _refuse_too_many(count: int) -> None:
    if count > MOST_REQUESTS:
        raise BadValueError(f"That makes {count:,} requests", f"The most is {MOST_REQUESTS:,}.")


def _sweep_columns(sweep: Sweep, jobs: Sequence[Job]) -> list[Column]:
    """Return the settings of each run, without a seed that was only drawn for the sweep."""
    request, axes, repeats = sweep.request, sweep.axes, sweep.repeats
    keeps_seed = request.parameters.get("seed") is not None or any(axis.field == "seed" for axis in axes)
    columns = []
    for index, job in enumerate(jobs):
        parameters = job.run.request.parameters
        values = [f"{axis.field} {format_value(parameters.get(axis.field))}" for axis in axes]
        values += [f"{index % repeats + 1} of {repeats}"] if repeats > 1 else []
        parameters = parameters if keeps_seed else parameters.set("seed", None)
        columns.append(Column(" · ".join(values), job.endpoint, request.model, parameters))
    return columns


async def prompt_set(flow: FlowContext) -> None:
    """Run every prompt of a file, or of the editor, with the presets chosen."""
    request = request_to_compare(flow)
    own = single_prompts(request.prompt)
    several = f"; empty: the {len(own)} prompts of the editor" if len(own) > 1 else ""
    entries = [
        FormLine(f"File of prompts: text, JSON Lines or CSV{several}", "", "prompts.jsonl"),
        FormLine("Prompt column (default: prompt or text)"),
    ]
    prompts = await flow.ask(Form("Prompt set", entries, partial(_read_prompt_set, own)))
    if prompts is not None:
        await _choose_and_open(flow, request, prompts, least=1)


def _read_prompt_set(own: tuple[TextPrompt | TokensPrompt, ...], typed: Sequence[str]) -> PromptSet:
    if typed[0]:
        path = Path(typed[0]).expanduser()
        prompts = PromptSet(path.name, tuple(map(TextPrompt, read_prompts(path, typed[1]))))
    elif len(own) > 1:
        prompts = PromptSet(_EDITOR, own)
    else:
        raise BadValueError("A prompt set is a file", hint="Type its path.")
    _refuse_too_many(len(prompts.prompts))
    return prompts


async def compare_prompts(flow: FlowContext, request: Request) -> None:
    """Compare the presets chosen on every prompt of the editor."""
    prompts = PromptSet(_EDITOR, single_prompts(request.prompt))
    await _choose_and_open(flow, request, prompts, least=LEAST_COLUMNS)


async def _choose_and_open(flow: FlowContext, request: Request, found: PromptSet, *, least: int) -> None:
    chosen = await choose_columns(flow, request, f"{plural(len(found.prompts), 'prompt')} with", least=least)
    if chosen is None:
        return
    prompts, columns = found.prompts, chosen.columns
    _refuse_too_many(len(prompts) * len(columns))
    jobs = compare_again(prompts, columns, flow.workspace.runs, any_seed=chosen.own_seeds)
    titles = tuple(column.title for column in columns)
    layout = Layout("Prompt set", found.name, "prompt", tuple(map(prompt_to_editor, prompts)), titles)
    await _open(flow, layout, list(columns) * len(prompts), jobs)


async def _open(
    flow: FlowContext,
    layout: Layout,
    columns: Sequence[Column],
    jobs: Sequence[Job],
    notes: Sequence[str] = (),
) -> None:
    runs = [job.run for job in jobs]
    notes = [*notes, *ignored(columns, probes_of(flow.services.folders, columns))]
    grid = Grid(flow.workspace, layout, columns, runs, notes)
    if any(run.is_running for run in runs) and not await flow.confirmed(grid.cost, "send", "cancel"):
        return
    await show_under_way(flow, grid, GridScreen(grid))


async def reopen(flow: FlowContext, group: RunGroup) -> None:
    """Show a comparison as columns, or a sweep or prompt set as a grid; nothing is sent unasked."""
    runs = newest_answers(group)
    if group.kind is GroupKind.COMPARISON and LEAST_COLUMNS <= len(runs) <= MOST_COLUMNS:
        await compare_saved(flow, [SavedRun(run.preset or "current settings", run) for run in runs])
        return
    grid = saved_grid(flow.workspace, group)
    await show_under_way(flow, grid, GridScreen(grid))
