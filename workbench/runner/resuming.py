"""Going on with a sweep or a comparison that was stopped: what a session has answered is not sent again."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from workbench.domain.endpoint import Endpoint
from workbench.domain.prompt import Prompt
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.domain.sweep import Sweep
from workbench.runner.comparison import Column, left_over, plan, plan_sweep, seeded
from workbench.runner.many import Job

_MOST_SEED = 2**31


@dataclass(frozen=True, slots=True)
class Earlier:
    """What ties new runs to those that an earlier attempt left."""

    group: str
    seed: int
    """The seed that was drawn for the first of them."""


def earlier(jobs: Sequence[Job], done: Sequence[Run]) -> Earlier | None:
    """The newest attempt at any of the jobs that have no seed yet, whatever seed was drawn for it."""
    wanted = [(job.run.endpoint, job.run.request) for job in jobs if _seed(job.run) is None]
    attempts = [run for run in done if run.group and _seed(run) is not None]
    newest = next((run for run in reversed(attempts) if _seedless(run) in wanted), None)
    if newest is None:
        return None
    seeds = [_seed(run) for run in attempts if run.group == newest.group and _seedless(run) in wanted]
    return Earlier(newest.group, min(seed for seed in seeds if seed is not None))


def with_answers(jobs: Sequence[Job], done: Sequence[Run]) -> list[Job]:
    """The same jobs, each with the run that has answered it already, where there is one."""
    remaining = {job.run.id for job in left_over(jobs, done)}
    unused = list(done)
    taken: list[Job] = []
    for job in jobs:
        if job.run.id in remaining:
            taken.append(job)
            continue
        answer = next(run for run in unused if not left_over([job], [run]))
        unused.remove(answer)
        taken.append(replace(job, run=answer))
    return taken


def sweep_again(sweep: Sweep, endpoint: Endpoint, done: Sequence[Run]) -> list[Job]:
    """A sweep's jobs in the cells' order; what was answered before keeps its run.

    Without a seed of its own it goes on with the one drawn before, else draws one.
    """
    group, request = uuid.uuid4().hex, sweep.request
    if request.parameters.get("seed") is None:
        before = earlier(plan_sweep(replace(sweep, repeats=1), endpoint, group), done) or _drawn()
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
        before = earlier(jobs, done) or _drawn()
        jobs = plan(prompts, [seeded(column, before.seed) for column in columns], before.group)
    return with_answers(jobs, done)


def _drawn() -> Earlier:
    return Earlier(uuid.uuid4().hex, secrets.randbelow(_MOST_SEED))


def _seed(run: Run) -> int | None:
    seed = run.request.parameters.get("seed")
    return seed if isinstance(seed, int) else None


def _seedless(run: Run) -> tuple[str, Request]:
    request = run.request
    return run.endpoint, replace(request, parameters=request.parameters.set("seed", None))
