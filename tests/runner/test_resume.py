"""Going on with what was stopped, with the seed that was drawn then."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.endpoint import Endpoint
from workbench.domain.json_values import JsonObject
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Outcome
from workbench.domain.sweep import Sweep, parse_axis
from workbench.runner.compare_plan import Column, plan_sweep
from workbench.runner.many_runs import Job
from workbench.runner.resume import Earlier, compare_again, earlier, sweep_again, with_answers

ENDPOINT = Endpoint("here", "http://127.0.0.1:1/v1", model="m")


def sweep_of(seed: int | None, prompt: str = "a", repeats: int = 1) -> Sweep:
    """A sweep of two temperatures."""
    request = Request(TextPrompt(prompt), "m", Parameters().set("seed", seed))
    return Sweep(request, (parse_axis("temperature=0,1"),), repeats)


def requests_of(jobs: Sequence[Job]) -> list[tuple[str, Request]]:
    return [(job.run.endpoint, job.run.request) for job in jobs]


def test_the_seed_drawn_for_the_newest_attempt_is_found_with_its_group() -> None:
    old = [job.run for job in plan_sweep(sweep_of(3), ENDPOINT, "old")]
    new = [job.run for job in plan_sweep(sweep_of(70, repeats=2), ENDPOINT, "new")]
    other = [job.run for job in plan_sweep(sweep_of(9, "b"), ENDPOINT, "other")]
    wanted = plan_sweep(sweep_of(None), ENDPOINT, "now")
    assert earlier(requests_of(wanted), [*old, *new, *other]) == Earlier("new", 70, new)


def test_an_attempt_with_a_pinned_seed_is_continued_in_its_group_and_draws_no_other() -> None:
    done = [job.run for job in plan_sweep(sweep_of(3), ENDPOINT, "old")]
    done[0].outcome = Outcome.COMPLETE
    assert earlier(requests_of(plan_sweep(sweep_of(3), ENDPOINT, "now")), done) == Earlier("old", None, done)
    again = [job.run for job in sweep_again(sweep_of(3), ENDPOINT, done)]
    assert again[0] is done[0]
    assert {(run.group, run.request.parameters.get("seed")) for run in again} == {("old", 3)}


def test_another_endpoint_continues_nothing() -> None:
    done = [job.run for job in plan_sweep(sweep_of(3), ENDPOINT, "old")]
    elsewhere = Endpoint("elsewhere", "http://127.0.0.1:2/v1")
    assert earlier(requests_of(plan_sweep(sweep_of(None), elsewhere, "now")), done) is None


@pytest.mark.parametrize(
    ("values", "is_continued"), [("0", True), ("0,1,2", True), ("1,2", False), ("1.5,2", False)]
)
def test_fewer_or_more_of_the_same_values_continue_a_sweep_and_others_begin_one(
    values: str, is_continued: bool
) -> None:
    done = [job.run for job in plan_sweep(sweep_of(3), ENDPOINT, "old")]
    for run in done:
        run.outcome = Outcome.COMPLETE
    request = Request(TextPrompt("a"), "m", Parameters())
    jobs = sweep_again(Sweep(request, (parse_axis(f"temperature={values}"),)), ENDPOINT, done)
    assert [job.run.group == "old" for job in jobs] == [is_continued] * len(jobs)
    assert any(job.run in done for job in jobs) == is_continued


def test_an_answer_of_a_comparison_does_not_draw_a_sweep_into_its_block() -> None:
    column = Column("greedy", ENDPOINT, "m", Parameters({"temperature": 0}))
    other = Column("warm", ENDPOINT, "m", Parameters({"top_p": 0.5}))
    done = [job.run for job in compare_again([TextPrompt("a")], [column, other], [])]
    for run in done:
        run.outcome = Outcome.COMPLETE
    jobs = sweep_again(sweep_of(None), ENDPOINT, done)
    assert not {run.group for run in done} & {job.run.group for job in jobs}
    again = compare_again([TextPrompt("a")], [column, other], done)
    assert [job.run for job in again] == done


def test_answers_stand_in_the_place_of_the_requests_they_answer_each_once() -> None:
    done = [job.run for job in plan_sweep(sweep_of(3), ENDPOINT, "old")]
    done[0].outcome, done[1].outcome = Outcome.STOPPED, Outcome.COMPLETE
    jobs = plan_sweep(sweep_of(3), ENDPOINT, "now") + plan_sweep(sweep_of(3), ENDPOINT, "now")
    taken = with_answers(jobs, done)
    assert [job.run is done[1] for job in taken] == [False, True, False, False]
    assert [job.run for job in taken if job.run is not done[1]] == [jobs[0].run, jobs[2].run, jobs[3].run]


def test_the_work_of_resuming_grows_with_the_sweep_and_not_with_its_square(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = 0

    def equal(request: Request, other: object) -> bool:
        nonlocal compared
        compared += 1
        return (
            isinstance(other, Request)
            and request.parameters == other.parameters
            and request.prompt == other.prompt
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
    parameters = Parameters(values, extra)
    other = Parameters(
        {name: value if whole else float(value) for name, value in reversed(values.items())},
        {"c": "d", "a": [1, {"b": None}]},
    )
    assert parameters == other
    assert hash(parameters) == hash(other)
    assert {Request(TextPrompt("a"), "m", parameters): 1}[Request(TextPrompt("a"), "m", other)] == 1
