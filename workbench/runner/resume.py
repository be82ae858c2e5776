"""Resume a sweep or comparison: requests that the session already has answers to are not sent again."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from workbench.domain.endpoint import Endpoint
from workbench.domain.prompt import Prompt
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.domain.sweep import Sweep
from workbench.runner.compare_plan import Column, adding, draw_seed, plan, plan_sweep
from workbench.runner.many_runs import Job


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier attempt to resume, or a new group without runs."""

    group: str
    seed: int | None
    """The seed drawn for its first run; None if none was drawn."""
    runs: Sequence[Run]


def earlier(
    requests: Iterable[tuple[str, Request]], done: Iterable[Run], *, any_seed: bool = False
) -> Earlier | None:
    """Find the newest group whose requests are a subset or superset of `requests`, ignoring drawn seeds.

    Each request is paired with the name of its endpoint. `any_seed` expects that no seed was drawn. Returns
    None if there is no such group.
    """
    wanted = set(requests)
    draws = not any_seed and any(_seed(request) is None for _, request in wanted)
    attempts: dict[str, list[Run]] = {}
    for run in done:
        if run.group:
            # Move the group to the end: groups are ordered by their newest run.
            runs = attempts[run.group] = attempts.pop(run.group, [])
            runs.append(run)
    for group, runs in reversed(attempts.items()):
        sent, drawn = set[tuple[str, Request]](), list[int]()
        for run in runs:
            request, seed = run.request, _seed(run.request)
            if draws and seed is not None and (run.endpoint, request) not in wanted:
                drawn.append(seed)
                request = Request(request.prompt, request.model, request.parameters.set("seed", None))
            sent.add((run.endpoint, request))
        if (sent <= wanted or sent >= wanted) and bool(drawn) == draws:
            return Earlier(group, min(drawn, default=None), runs)
    return None


def with_answers(jobs: Sequence[Job], done: Sequence[Run]) -> list[Job]:
    """Return the jobs, replacing each run by an answered run of the same request where there is one."""
    answers: dict[tuple[str, Request], list[Run]] = {}
    for run in reversed(done):
        if run.is_answered:
            answers.setdefault((run.endpoint, run.request), []).append(run)
    taken = []
    for job in jobs:
        unused = answers.get((job.run.endpoint, job.run.request))
        taken.append(Job(job.endpoint, unused.pop()) if unused else job)
    return taken


def sweep_again(
    sweep: Sweep, endpoint: Endpoint, done: Iterable[Run], added: tuple[str, ...] = ()
) -> list[Job]:
    """Return a sweep's jobs in the order of its cells; cells answered by an earlier attempt keep their runs.

    A sweep without a seed uses the one drawn by the earlier attempt, else draws one. `added` names parameters
    that the user did not set.
    """
    is_pinned = sweep.request.parameters.get("seed") is not None
    # Repeats increment the seed; unless it is pinned, match only the first repeat.
    once = sweep if is_pinned else replace(sweep, repeats=1)
    before = earlier(((endpoint.name, once.request_for(cell)) for cell in once.cells()), done) or _drawn()
    request = sweep.request
    if not is_pinned:
        request = request._replace(parameters=request.parameters.set("seed", before.seed))
    if not is_pinned and all(axis.field != "seed" for axis in sweep.axes):
        added = (*added, "seed")
    jobs = plan_sweep(replace(sweep, request=request), endpoint, before.group, added)
    return with_answers(jobs, before.runs)


def compare_again(
    prompts: Sequence[Prompt], columns: Sequence[Column], done: Iterable[Run], *, any_seed: bool = False
) -> list[Job]:
    """Return a comparison's jobs, ordered by prompt; those answered by an earlier attempt keep their runs.

    Columns without a seed share the one drawn by that attempt, else a new one; `any_seed` sends none.
    """
    jobs = plan(prompts, columns, "")
    requests = ((job.run.endpoint, job.run.request) for job in jobs)
    before = earlier(requests, done, any_seed=any_seed) or _drawn()
    if not any_seed and before.seed is not None:
        columns = [adding(column, "seed", before.seed) for column in columns]
    return with_answers(plan(prompts, columns, before.group), before.runs)


def _drawn() -> Earlier:
    return Earlier(uuid.uuid4().hex, draw_seed(), ())


def _seed(request: Request) -> int | None:
    seed = request.parameters.get("seed")
    return seed if isinstance(seed, int) else None
