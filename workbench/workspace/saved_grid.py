"""The grid of a sweep, a prompt set or a large comparison that a session holds, as its runs tell it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from workbench.domain.divergence import distinguishing
from workbench.domain.parameters import ParameterValue
from workbench.domain.prompt import Prompt, prompt_to_editor
from workbench.domain.request import Request
from workbench.domain.run import Outcome, Run
from workbench.domain.run_group import GroupKind, RunGroup
from workbench.domain.values import format_value
from workbench.runner.compare_plan import Column
from workbench.runner.saved_runs import SavedRun, saved_column
from workbench.storage.endpoint_list import EndpointList
from workbench.workspace.grid import Layout


@dataclass(frozen=True, slots=True)
class SavedGrid:
    """What a grid shows of runs that are over."""

    layout: Layout
    columns: Sequence[Column]
    """What each run was made with."""
    runs: Sequence[Run]
    """Place by place; a request that was never sent has a run that was stopped."""


def newest_answers(group: RunGroup) -> list[Run]:
    """A group's runs; of a request that was sent several times the last answer, else the last try."""
    found: dict[tuple[str, str, Request], Run] = {}
    for run in group.runs:
        key = (run.endpoint, run.preset, run.request)
        if key not in found or run.is_answered or not found[key].is_answered:
            found[key] = run
    return list(found.values())


_AXES = 2
"""The most fields that a grid of values has."""


def saved_grid(group: RunGroup, endpoints: EndpointList) -> SavedGrid:
    """The grid in which a group's runs stand."""
    runs = newest_answers(group)
    varied = group.varied
    if group.kind is GroupKind.SWEEP and 0 < len(varied) <= _AXES:
        return _sweep(runs, varied, endpoints)
    return _table(group, runs, endpoints)


def _sweep(
    runs: Sequence[Run],
    varied: Mapping[str, Sequence[ParameterValue | None]],
    endpoints: EndpointList,
) -> SavedGrid:
    """Rows and columns of values; of two fields that one has the columns which changes faster."""
    fields = list(varied)
    first = runs[0].request.parameters
    made = saved_column(SavedRun("", runs[0]), endpoints)
    moved = ([run.request.parameters.get(field) != first.get(field) for field in fields] for run in runs)
    if next(filter(any, moved), []) == [True, False]:
        fields.reverse()
    seeds = dict.fromkeys(run.request.parameters.get("seed") for run in runs)
    repeats = (
        [None] if "seed" in fields else sorted(seeds, key=lambda one: one if isinstance(one, int) else -1)
    )
    by_cell = {run.request.parameters: run for run in runs}
    placed, columns = [], []
    for values in product(*(varied[field] for field in fields)):
        for number, seed in enumerate(repeats, 1):
            changes = dict(zip(fields, values, strict=True)) | ({} if "seed" in fields else {"seed": seed})
            parameters = first.set_all(changes)
            run = by_cell.get(parameters) or _unsent(runs[0], replace(runs[0].request, parameters=parameters))
            names = [f"{field} {_word(value)}" for field, value in zip(fields, values, strict=True)]
            names += [f"{number} of {len(repeats)}"] if len(repeats) > 1 else []
            placed.append(run)
            columns.append(replace(made, title=" · ".join(names), parameters=parameters))
    across = tuple(f"{field} {_word(value)}" for field in fields[1:] for value in varied[field])
    layout = Layout(
        "Sweep",
        prompt_to_editor(runs[0].request.prompt),
        fields[0],
        tuple(map(_word, varied[fields[0]])),
        across or Layout.ONE_COLUMN,
        len(repeats),
    )
    return SavedGrid(layout, columns, placed)


def _table(group: RunGroup, runs: Sequence[Run], endpoints: EndpointList) -> SavedGrid:
    """A row for each prompt and a column for each of the settings; with one prompt a row for each of them."""
    prompts = group.prompts
    settings = {_settings_of(run): run for run in reversed(runs)}
    ordered = sorted(settings.values(), key=runs.index)
    names = _names(ordered)
    by_cell: dict[tuple[Prompt, object], Run] = {(run.request.prompt, _settings_of(run)): run for run in runs}
    placed, columns = [], []
    for prompt in prompts:
        for name, one in zip(names, ordered, strict=True):
            found = by_cell.get((prompt, _settings_of(one)))
            run = found or _unsent(one, replace(one.request, prompt=prompt))
            placed.append(run)
            columns.append(saved_column(SavedRun(name, run), endpoints))
    if len(prompts) == 1:
        about = prompt_to_editor(prompts[0])
        return SavedGrid(Layout("Compare", about, "settings", names, Layout.ONE_COLUMN), columns, placed)
    rows = tuple(map(prompt_to_editor, prompts))
    return SavedGrid(Layout("Prompt set", group.about, "prompt", rows, names), columns, placed)


def _settings_of(run: Run) -> tuple[str, str, str, object]:
    return run.preset, run.endpoint, run.request.model, run.request.parameters


def _names(runs: Sequence[Run]) -> tuple[str, ...]:
    """What tells the settings apart: presets where they do, and the parameters where they do not."""
    presets = [run.preset or "current settings" for run in runs]
    differing = distinguishing([run.request.parameters for run in runs])
    is_clear = len(set(presets)) == len(presets)
    return tuple(
        preset if is_clear else " · ".join([preset, *fields, *([run.endpoint] if not fields else [])])
        for run, preset, fields in zip(runs, presets, differing, strict=True)
    )


def _word(value: ParameterValue | None) -> str:
    return "unset" if value is None else format_value(value)


def _unsent(like: Run, request: Request) -> Run:
    return Run(request, like.endpoint, preset=like.preset, group=like.group, outcome=Outcome.STOPPED)
