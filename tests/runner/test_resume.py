"""Going on with what was stopped, with the seed that was drawn then."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.endpoint import Endpoint
from workbench.domain.json_values import JsonObject
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Parameters, Request
from workbench.domain.run import Outcome
from workbench.domain.sweep import Sweep, parse_axis
from workbench.runner.compare_plan import plan_sweep
from workbench.runner.many_runs import Job
from workbench.runner.resume import Earlier, earlier, sweep_again, with_answers

ENDPOINT = Endpoint("here", "http://127.0.0.1:1/v1", model="m")


def sweep_of(seed: int | None, prompt: str = "a", repeats: int = 1) -> Sweep:
    """A sweep of two temperatures."""
    request = Request(TextPrompt(prompt), "m", Parameters().set("seed", seed))
    return Sweep(request, (parse_axis("temperature=0,1"),), repeats)


def asked(jobs: Sequence[Job]) -> list[tuple[str, Request]]:
    return [(job.run.endpoint, job.run.request) for job in jobs]


def test_the_seed_drawn_for_the_newest_attempt_is_found_with_its_group() -> None:
    old = [job.run for job in plan_sweep(sweep_of(3), ENDPOINT, "old")]
    new = [job.run for job in plan_sweep(sweep_of(70, repeats=2), ENDPOINT, "new")]
    other = [job.run for job in plan_sweep(sweep_of(9, "b"), ENDPOINT, "other")]
    wanted = plan_sweep(sweep_of(None), ENDPOINT, "now")
    assert earlier(asked(wanted), [*old, *new, *other]) == Earlier("new", 70)


def test_a_pinned_seed_and_another_endpoint_go_on_with_nothing() -> None:
    done = [job.run for job in plan_sweep(sweep_of(3), ENDPOINT, "old")]
    elsewhere = Endpoint("elsewhere", "http://127.0.0.1:2/v1")
    assert earlier(asked(plan_sweep(sweep_of(3), ENDPOINT, "now")), done) is None
    assert earlier(asked(plan_sweep(sweep_of(None), elsewhere, "now")), done) is None


def test_answers_stand_in_the_place_of_the_requests_they_answer_each_once() -> None:
    done = [job.run for job in plan_sweep(sweep_of(3), ENDPOINT, "old")]
    done[0].outcome, done[1].outcome = Outcome.STOPPED, Outcome.COMPLETE
    jobs = plan_sweep(sweep_of(3), ENDPOINT, "now") + plan_sweep(sweep_of(3), ENDPOINT, "now")
    taken = with_answers(jobs, done)
    assert [job.run is done[1] for job in taken] == [False, True, False, False]
    assert [one.run for one in taken if one.run is not done[1]] == [jobs[0].run, jobs[2].run, jobs[3].run]


def test_the_work_of_resuming_grows_with_the_sweep_and_not_with_its_square(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = 0

    def equal(one: Request, other: object) -> bool:
        nonlocal compared
        compared += 1
        return (
            isinstance(other, Request) and one.parameters == other.parameters and one.prompt == other.prompt
        )

    request = Request(TextPrompt("a"), "m", Parameters({"logit_bias": {"5": 1.0}}, {"stop_ids": [1, 2]}))
    sweep = Sweep(request, (parse_axis("temperature=0:1:0.01"), parse_axis("top_p=0.5,1")), 2)
    done = [job.run for job in sweep_again(sweep, ENDPOINT, [])]
    for run in done:
        run.outcome = Outcome.COMPLETE
    monkeypatch.setattr(Request, "__eq__", equal)
    again = sweep_again(sweep, ENDPOINT, done)
    assert [job.run for job in again] == done
    assert compared <= 8 * sweep.size


@given(st.dictionaries(st.sampled_from(["temperature", "n", "seed"]), st.integers(0, 2)), st.booleans())
def test_equal_parameters_have_equal_hashes_however_they_are_made(
    values: dict[str, int], whole: bool
) -> None:
    extra: JsonObject = {"a": [1, {"b": None}], "c": "d"}
    one = Parameters(values, extra)
    other = Parameters(
        {name: value if whole else float(value) for name, value in reversed(values.items())},
        {"c": "d", "a": [1, {"b": None}]},
    )
    assert one == other
    assert hash(one) == hash(other)
    assert {Request(TextPrompt("a"), "m", one): 1}[Request(TextPrompt("a"), "m", other)] == 1
