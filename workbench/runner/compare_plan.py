"""Comparisons: prompts under several columns of preset, endpoint and model, or runs that are over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from workbench.domain.display import one_line
from workbench.domain.divergence import differing, equal_groups
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.probe_findings import Probe, ProbeVerdict
from workbench.domain.prompt import Prompt
from workbench.domain.request import Parameters, Request
from workbench.domain.run import Run
from workbench.domain.run_check import check_run
from workbench.domain.scoring import are_scorings
from workbench.domain.sweep import Sweep
from workbench.runner.many_runs import Job
from workbench.storage.endpoint_list import EndpointList, endpoint_for
from workbench.storage.files import Folders
from workbench.storage.probes import load_probe


@dataclass(frozen=True, slots=True)
class Column:
    """One side of a comparison."""

    title: str
    endpoint: Endpoint
    model: str
    parameters: Parameters
    preset: str = ""


def overlay(preset: Parameters, typed: Parameters) -> Parameters:
    """A preset's or a run's parameters, with those that a person gave in their place."""
    return Parameters({**preset.values, **typed.values}, {**preset.extra, **typed.extra})


def plan(prompts: Sequence[Prompt], columns: Sequence[Column], group: str) -> list[Job]:
    """One run for each prompt and column, prompt by prompt; `group` ties them together."""
    return [
        Job(
            column.endpoint,
            Run(
                Request(prompt, column.model or column.endpoint.model, column.parameters),
                column.endpoint.name,
                preset=column.preset,
                group=group,
            ),
        )
        for prompt in prompts
        for column in columns
    ]


def plan_sweep(sweep: Sweep, endpoint: Endpoint, group: str) -> list[Job]:
    """One run for each cell of a sweep, in the cells' order."""
    return [Job(endpoint, Run(sweep.request_for(cell), endpoint.name, group=group)) for cell in sweep.cells()]


def seeded(column: Column, seed: int) -> Column:
    """A column with a seed where it has none, so that all columns share one."""
    if column.parameters.get("seed") is not None:
        return column
    return replace(column, parameters=column.parameters.set("seed", seed))


def gave_same_text(runs: Sequence[Run]) -> bool:
    """Whether several runs answered, and all of them with the same text."""
    choices = [run.ordered[0] for run in runs if run.choices and run.error is None]
    return len(choices) > 1 and choices[0].length > 0 and len(equal_groups(choices)) == 1


def grid_remarks(rows: Sequence[Sequence[Run]]) -> list[str]:
    """What an honest grid must say of its rows' runs."""
    if gave_same_text([run for row in rows for run in row]):
        return ["every cell gave the same text: the parameters that differ had no effect here"]
    alike = sum(map(gave_same_text, rows))
    return [f"in {alike} of {len(rows)} rows every answer is the same text"] if alike else []


def probes_of(folders: Folders, columns: Sequence[Column]) -> dict[str, Probe]:
    """The last probe of each column's endpoint, where there is one."""
    names = dict.fromkeys(column.endpoint.name for column in columns)
    return {name: probe for name in names if (probe := load_probe(folders, name)) is not None}


def ignored(columns: Sequence[Column], probes: Mapping[str, Probe]) -> list[str]:
    """Which parameters differ in vain: their endpoint's profile drops them, or its probe found no effect."""
    notes = []
    for endpoint in {column.endpoint.name: column.endpoint for column in columns}.values():
        fields = differing([one.parameters for one in columns if one.endpoint.name == endpoint.name])
        name, probe = one_line(endpoint.name, 40), probes.get(endpoint.name)
        if dropped := [field for field in fields if field in endpoint.drop]:
            notes.append(f"not sent to {name}: {', '.join(dropped)} (unsupported by this endpoint)")
        for verdict, does in ((ProbeVerdict.NO_EFFECT, "ignores"), (ProbeVerdict.REFUSED, "refuses")):
            found = [one for one in fields if probe and one not in dropped and probe.verdict(one) is verdict]
            if probe and found:
                notes.append(f"{name} {does} {', '.join(found)} (probed {probe.at:%Y-%m-%d})")
    return notes


def remarks(runs: Sequence[Run]) -> list[str]:
    """What an honest comparison must say of one prompt's runs."""
    notes: list[str] = []
    if gave_same_text(runs) and not are_scorings(runs):
        differs = differing([run.request.parameters for run in runs])
        notes.append(
            "all columns gave the same text"
            + ": the parameters that differ had no effect here" * bool(differs)
        )
    seeds = {run.request.parameters.get("seed") for run in runs}
    if len(seeds) > 1:
        notes.append("the columns have different seeds")
    return notes


@dataclass(frozen=True, slots=True)
class SavedRun:
    """A run that is over, and how a comparison calls it."""

    title: str
    run: Run


def saved_column(saved: SavedRun, endpoints: EndpointList) -> Column:
    """What a run was made with; an endpoint that is not known any more has its name and no address."""
    run = saved.run
    try:
        endpoint = endpoint_for(run.endpoint, None, endpoints)
    except BadValueError:
        endpoint = Endpoint(run.endpoint, "")
    return Column(saved.title, endpoint, run.request.model, run.request.parameters, run.preset)


def saved_remarks(runs: Sequence[Run]) -> list[str]:
    """What is to be known of runs that were not made to be compared."""
    notes = []
    first = runs[0]
    if any(run.request.prompt != first.request.prompt for run in runs):
        notes.append("the prompts differ")
    answered = dict.fromkeys(one_line(run.model or run.request.model, 40) for run in runs)
    if len(answered) > 1:
        notes.append(f"answered by different models: {', '.join(one or '—' for one in answered)}")
    if any(len(run.choices) > 1 for run in runs):
        notes.append("only the first choice of each run is compared")
    if len(runs) == 2 and runs[1].request == first.request and not are_scorings(runs):
        notes += [f"the same request: {one.describe()}" for one in check_run(*runs).choices[:1]]
    return notes
