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
    """An attempt that is continued."""

    group: str
    seed: int | None
    """The seed that was drawn for the first of its runs; None where none was."""
    runs: Sequence[Run]


def earlier(
    requests: Iterable[tuple[str, Request]], done: Iterable[Run], *, any_seed: bool = False
) -> Earlier | None:
    """The newest attempt at the same requests, fewer of them or more, whatever seed was drawn for it.

    Each request comes with the name of its endpoint. A group with other requests besides is not an attempt at
    these: what is sent now would stand among them.
    """
    wanted = set(requests)
    draws = not any_seed and any(_seed(request) is None for _, request in wanted)
    attempts: dict[str, list[Run]] = {}
    for run in done:
        if run.group:
            # The group of the newest run is the last one.
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


def sweep_again(sweep: Sweep, endpoint: Endpoint, done: Iterable[Run]) -> list[Job]:
    """A sweep's jobs in the cells' order; what an earlier attempt has answered keeps its run.

    Without a seed of its own it continues with the one drawn before, else draws one.
    """
    is_pinned = sweep.request.parameters.get("seed") is not None
    # Repeats count a pinned seed up; of a drawn one only the first is known.
    once = sweep if is_pinned else replace(sweep, repeats=1)
    before = earlier(((endpoint.name, once.request_for(cell)) for cell in once.cells()), done) or _drawn()
    request = sweep.request
    if not is_pinned:
        request = replace(request, parameters=request.parameters.set("seed", before.seed))
    return with_answers(plan_sweep(replace(sweep, request=request), endpoint, before.group), before.runs)


def compare_again(
    prompts: Sequence[Prompt], columns: Sequence[Column], done: Iterable[Run], *, any_seed: bool = False
) -> list[Job]:
    """A comparison's jobs, prompt by prompt; what an earlier attempt has answered keeps its run.

    Columns without a seed share the one drawn before, else a new one; `any_seed` lets them have none.
    """
    jobs = plan(prompts, columns, "")
    asked = ((job.run.endpoint, job.run.request) for job in jobs)
    before = earlier(asked, done, any_seed=any_seed) or _drawn()
    if not any_seed and before.seed is not None:
        columns = [seeded(column, before.seed) for column in columns]
    return with_answers(plan(prompts, columns, before.group), before.runs)


def _drawn() -> Earlier:
    return Earlier(uuid.uuid4().hex, secrets.randbelow(_MOST_SEED), ())


def _seed(request: Request) -> int | None:
    seed = request.parameters.get("seed")
    return seed if isinstance(seed, int) else None
