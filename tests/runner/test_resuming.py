"""Going on with what was stopped, with the seed that was drawn then."""

from __future__ import annotations

from workbench.domain.endpoint import Endpoint
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Parameters, Request
from workbench.domain.run import Outcome
from workbench.domain.sweep import Sweep, parse_axis
from workbench.runner.comparison import plan_sweep
from workbench.runner.resuming import Earlier, earlier, with_answers

ENDPOINT = Endpoint("here", "http://127.0.0.1:1/v1", model="m")


def sweep_of(seed: int | None, prompt: str = "a", repeats: int = 1) -> Sweep:
    """A sweep of two temperatures."""
    request = Request(TextPrompt(prompt), "m", Parameters().set("seed", seed))
    return Sweep(request, (parse_axis("temperature=0,1"),), repeats)


def test_the_seed_drawn_for_the_newest_attempt_is_found_with_its_group() -> None:
    old = [job.run for job in plan_sweep(sweep_of(3), ENDPOINT, "old")]
    new = [job.run for job in plan_sweep(sweep_of(70, repeats=2), ENDPOINT, "new")]
    other = [job.run for job in plan_sweep(sweep_of(9, "b"), ENDPOINT, "other")]
    wanted = plan_sweep(sweep_of(None), ENDPOINT, "now")
    assert earlier(wanted, [*old, *new, *other]) == Earlier("new", 70)


def test_a_pinned_seed_and_another_endpoint_go_on_with_nothing() -> None:
    done = [job.run for job in plan_sweep(sweep_of(3), ENDPOINT, "old")]
    elsewhere = Endpoint("elsewhere", "http://127.0.0.1:2/v1")
    assert earlier(plan_sweep(sweep_of(3), ENDPOINT, "now"), done) is None
    assert earlier(plan_sweep(sweep_of(None), elsewhere, "now"), done) is None


def test_answers_stand_in_the_place_of_the_requests_they_answer_each_once() -> None:
    done = [job.run for job in plan_sweep(sweep_of(3), ENDPOINT, "old")]
    done[0].outcome, done[1].outcome = Outcome.STOPPED, Outcome.COMPLETE
    jobs = plan_sweep(sweep_of(3), ENDPOINT, "now") + plan_sweep(sweep_of(3), ENDPOINT, "now")
    taken = with_answers(jobs, done)
    assert [job.run is done[1] for job in taken] == [False, True, False, False]
    assert [one.run for one in taken if one.run is not done[1]] == [jobs[0].run, jobs[2].run, jobs[3].run]
