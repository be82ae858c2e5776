"""Plan comparisons of presets, endpoints and models, and describe those of saved runs."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from workbench.domain.display import one_line
from workbench.domain.divergence import differing, equal_groups
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.parameter_table import ParameterValue
from workbench.domain.parameters import Parameters
from workbench.domain.probe_findings import Probe, ProbeVerdict
from workbench.domain.prompt import Prompt
from workbench.domain.request import Request
from workbench.domain.rerun_check import check_run
from workbench.domain.run import Run
from workbench.domain.scoring import are_scorings
from workbench.domain.sweep import Sweep
from workbench.runner.many_runs import Job
from workbench.storage.endpoint_list import EndpointList, endpoint_for
from workbench.storage.files import Folders
from workbench.storage.probes import load_probe

_MOST_SEED = 2**31


@dataclass(frozen=True, slots=True)
class Column:
    """The settings of one column of a comparison."""

    title: str
    endpoint: Endpoint
    model: str
    parameters: Parameters
    """Those of the user, which are adopted with the column."""
    preset: str = ""
    added: Mapping[str, ParameterValue] = field(default_factory=dict)
    """Parameters that are sent as well, such as a shared seed; they replace the user's."""


def overlay(preset: Parameters, typed: Parameters) -> Parameters:
    """Return the parameters of a preset or run, overridden by those that a person typed."""
    return Parameters({**preset.values, **typed.values}, {**preset.extra, **typed.extra})


def plan(prompts: Sequence[Prompt], columns: Sequence[Column], group: str) -> list[Job]:
    """Return one job per prompt and column, ordered by prompt; `group` is the id of their group."""
    return [
        Job(
            column.endpoint,
            Run(
                Request(
                    prompt, column.model or column.endpoint.model, column.parameters.set_all(column.added)
                ),
                column.endpoint.name,
                preset=column.preset,
                added=tuple(column.added),
                group=group,
            ),
        )
        for prompt in prompts
        for column in columns
    ]


def plan_sweep(sweep: Sweep, endpoint: Endpoint, group: str, added: tuple[str, ...] = ()) -> list[Job]:
    """Return one job per cell of a sweep, in order; `added` names parameters that the user did not set."""
    return [
        Job(endpoint, Run(sweep.request_for(cell), endpoint.name, added=added, group=group))
        for cell in sweep.cells()
    ]


def draw_seed() -> int:
    """Draw the seed that the requests of a comparison or sweep share."""
    return secrets.randbelow(_MOST_SEED)


def adding(column: Column, name: str, value: ParameterValue) -> Column:
    """Return a column that is also sent with a parameter of the workbench, unless the user set that one."""
    if column.parameters.get(name) is not None:
        return column
    return replace(column, added={**column.added, name: value})


def gave_same_text(runs: Sequence[Run]) -> bool:
    """Whether at least two runs have answers and all answers are the same text."""
    choices = [run.ordered[0] for run in runs if run.choices and run.error is None]
    return len(choices) > 1 and choices[0].length > 0 and len(equal_groups(choices)) == 1


def grid_remarks(rows: Sequence[Sequence[Run]]) -> list[str]:
    """Return remarks on cells of a grid with the same text; `rows` has the runs of each row."""
    if gave_same_text([run for row in rows for run in row]):
        return ["every cell gave the same text: the parameters that differ had no effect here"]
    alike = sum(map(gave_same_text, rows))
    return [f"in {alike} of {len(rows)} rows every answer is the same text"] if alike else []


def probes_of(folders: Folders, columns: Sequence[Column]) -> dict[str, Probe]:
    """Return the last probe of each column's endpoint by its name; unprobed endpoints are missing."""
    names = dict.fromkeys(column.endpoint.name for column in columns)
    return {name: probe for name in names if (probe := load_probe(folders, name)) is not None}


def ignored(columns: Sequence[Column], probes: Mapping[str, Probe]) -> list[str]:
    """Return remarks on differing parameters that their endpoint drops, ignores or refuses."""
    notes = []
    for endpoint in {column.endpoint.name: column.endpoint for column in columns}.values():
        fields = differing([column.parameters for column in columns if column.endpoint.name == endpoint.name])
        name, probe = one_line(endpoint.name, 40), probes.get(endpoint.name)
        if dropped := [field for field in fields if field in endpoint.drop]:
            notes.append(f"not sent to {name}: {', '.join(dropped)} (unsupported by this endpoint)")
        kept = [field for field in fields if field not in dropped]
        for verdict, does in ((ProbeVerdict.NO_EFFECT, "ignores"), (ProbeVerdict.REFUSED, "refuses")):
            found = [field for field in kept if probe and probe.verdict(field) is verdict]
            if probe and found:
                notes.append(f"{name} {does} {', '.join(found)} (probed {probe.at:%Y-%m-%d})")
    return notes


def remarks(runs: Sequence[Run]) -> list[str]:
    """Return remarks on the runs of one prompt: equal texts and different seeds."""
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
    """A finished run, and its title in a comparison."""

    title: str
    run: Run


def saved_column(saved: SavedRun, endpoints: EndpointList) -> Column:
    """Return the column of a saved run; an endpoint that no longer exists keeps its name, without an URL."""
    run = saved.run
    try:
        endpoint = endpoint_for(run.endpoint, None, endpoints)
    except BadValueError:
        endpoint = Endpoint(run.endpoint, "")
    return Column(saved.title, endpoint, run.request.model, run.settings, run.preset)


def saved_remarks(runs: Sequence[Run]) -> list[str]:
    """Return remarks on differences between saved runs that were not planned as a comparison."""
    notes = []
    first = runs[0]
    if any(run.request.prompt != first.request.prompt for run in runs):
        notes.append("the prompts differ")
    answered = dict.fromkeys(one_line(run.model or run.request.model, 40) for run in runs)
    if len(answered) > 1:
        notes.append(f"answered by different models: {', '.join(model or '—' for model in answered)}")
    if any(len(run.choices) > 1 for run in runs):
        notes.append("only the first choice of each run is compared")
    if len(runs) == 2 and runs[1].request == first.request and not are_scorings(runs):
        notes += [f"the same request: {choice.describe()}" for choice in check_run(*runs).choices[:1]]
    return notes
