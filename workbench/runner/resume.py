"""Going on with a sweep or a comparison that was stopped: what a session has answered is not sent again."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from workbench.domain.endpoint import Endpoint
from workbench.domain.prompt import Prompt
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.domain.sweep import Sweep
from workbench.runner.compare_plan import Column, plan, plan_sweep, seeded
from workbench.runner.many_runs import Job

_MOST_SEED = 2**31


@dataclass(frozen=True, slots=True)
class Earlier:
    """What ties new runs to those that an earlier attempt left."""

    group: str
    seed: int
    """The seed that was drawn for the first of them."""


def earlier(requests: Iterable[tuple[str, Request]], done: Sequence[Run]) -> Earlier | None:
    """The newest attempt at any of the requests that have no seed yet, whatever seed was drawn for it.

    Each request comes with the name of its endpoint.
    """
    wanted = {(endpoint, request) for endpoint, request in requests if _seed(request) is None}
    seeds = [(run, seed) for run in done if (seed := _seed(run.request)) is not None] if wanted else []
    drawn = [(run.group, seed) for run, seed in seeds if (run.endpoint, _seedless(run.request)) in wanted]
    group = next((group for group, _ in reversed(drawn) if group), "")
    return Earlier(group, min(seed for one, seed in drawn if one == group)) if group else None


def with_answers(jobs: Sequence[Job], done: Sequence[Run]) -> list[Job]:
    """The same jobs, each with a run that has answered it in full already, where there is one."""
    answers: dict[tuple[str, Request], list[Run]] = {}
    for run in reversed(done):
        if run.is_answered:
            answers.setdefault((run.endpoint, run.request), []).append(run)
    taken = []
    for job in jobs:
        unused = answers.get((job.run.endpoint, job.run.request))
        taken.append(Job(job.endpoint, unused.pop()) if unused else job)
    return taken


def sweep_again(sweep: Sweep, endpoint: Endpoint, done: Sequence[Run]) -> list[Job]:
    """A sweep's jobs in the cells' order; what was answered before keeps its run.

    Without a seed of its own it goes on with the one drawn before, else draws one.
    """
    group, request = uuid.uuid4().hex, sweep.request
    if request.parameters.get("seed") is None:
        once = replace(sweep, repeats=1)
        wanted = ((endpoint.name, once.request_for(cell)) for cell in once.cells())
        before = earlier(wanted, done) or _drawn()
        group = before.group
        request = replace(request, parameters=request.parameters.set("seed", before.seed))
    return with_answers(plan_sweep(replace(sweep, request=request), endpoint, group), done)


def compare_again(
    prompts: Sequence[Prompt], columns: Sequence[Column], done: Sequence[Run], *, any_seed: bool = False
) -> list[Job]:
    """A comparison's jobs, prompt by prompt; what was answered before keeps its run.

    Columns without a seed share the one drawn before, else a new one; `any_seed` lets them have none.
    """
    jobs = plan(prompts, columns, uuid.uuid4().hex)
    if not any_seed:
        before = earlier(((job.run.endpoint, job.run.request) for job in jobs), done) or _drawn()
        jobs = plan(prompts, [seeded(column, before.seed) for column in columns], before.group)
    return with_answers(jobs, done)


def _drawn() -> Earlier:
    return Earlier(uuid.uuid4().hex, secrets.randbelow(_MOST_SEED))


def _seed(request: Request) -> int | None:
    seed = request.parameters.get("seed")
    return seed if isinstance(seed, int) else None


def _seedless(request: Request) -> Request:
    return Request(request.prompt, request.model, request.parameters.set("seed", None))
