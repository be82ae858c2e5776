"""Comparing runs that are over, of one session or of several; nothing is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.domain.display import one_line
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.run import Run
from workbench.domain.run_check import check_run
from workbench.domain.scoring import are_scorings
from workbench.runner.compare_plan import Column
from workbench.storage.endpoint_list import EndpointList, endpoint_for


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
