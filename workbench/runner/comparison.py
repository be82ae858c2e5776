"""Comparisons: the same prompts under several columns of preset, endpoint and model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from workbench.domain.comparison import equal_groups
from workbench.domain.endpoint import Endpoint
from workbench.domain.prompt import Prompt
from workbench.domain.request import Parameters, Request
from workbench.domain.run import Outcome, Run
from workbench.domain.sweep import Sweep
from workbench.runner.many import Job


@dataclass(frozen=True, slots=True)
class Column:
    """One side of a comparison."""

    title: str
    endpoint: Endpoint
    model: str
    parameters: Parameters
    preset: str = ""


def overlay(preset: Parameters, typed: Parameters) -> Parameters:
    """A preset's parameters with those on top that a person typed."""
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


def left_over(jobs: Sequence[Job], done: Sequence[Run]) -> list[Job]:
    """The jobs whose request has not been answered in full yet; resumes a comparison or a sweep."""
    answered = [run for run in done if run.outcome in (Outcome.COMPLETE, Outcome.UNFINISHED)]
    remaining: list[Job] = []
    for job in jobs:
        match = next(
            (run for run in answered if run.request == job.run.request and run.endpoint == job.run.endpoint),
            None,
        )
        if match is None:
            remaining.append(job)
        else:
            answered.remove(match)
    return remaining


def seeded(column: Column, seed: int) -> Column:
    """A column with a seed where it has none, so that all columns share one."""
    if column.parameters.get("seed") is not None:
        return column
    return replace(column, parameters=column.parameters.set("seed", seed))


def remarks(runs: Sequence[Run]) -> list[str]:
    """What an honest comparison must say of one prompt's runs."""
    told: list[str] = []
    choices = [run.ordered[0] for run in runs if run.choices and run.error is None]
    if len(choices) > 1 and len(equal_groups(choices)) == 1 and choices[0].length:
        told.append("all columns gave the same text: what differs had no effect here")
    seeds = {run.request.parameters.get("seed") for run in runs}
    if len(seeds) > 1:
        told.append("the columns have different seeds")
    return told
