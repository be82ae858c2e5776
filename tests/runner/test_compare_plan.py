"""Planning comparisons, resuming them, and being honest about them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from tests.domain.builders import choice_of, run_of
from workbench.domain.endpoint import Endpoint
from workbench.domain.parameters import Parameters
from workbench.domain.probe_findings import Finding, Probe, ProbeVerdict
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Outcome
from workbench.domain.sweep import Sweep, parse_axis
from workbench.runner.compare_plan import (
    Column,
    adding,
    grid_remarks,
    ignored,
    overlay,
    plan,
    plan_sweep,
    remarks,
)
from workbench.runner.resume import with_answers

ENDPOINT = Endpoint("here", "http://127.0.0.1:1/v1", model="m")


def test_every_prompt_meets_every_column() -> None:
    columns = [
        Column("greedy", ENDPOINT, "", Parameters({"temperature": 0.0}), "greedy"),
        Column("creative", ENDPOINT, "big", Parameters({"temperature": 1.2}), "creative"),
    ]
    jobs = plan([TextPrompt("a"), TextPrompt("b")], columns, "group")
    assert [(job.run.request.prompt, job.run.request.model, job.run.preset) for job in jobs] == [
        (TextPrompt("a"), "m", "greedy"),
        (TextPrompt("a"), "big", "creative"),
        (TextPrompt("b"), "m", "greedy"),
        (TextPrompt("b"), "big", "creative"),
    ]
    assert {job.run.group for job in jobs} == {"group"}


def test_what_a_person_typed_wins_over_the_preset() -> None:
    preset = Parameters({"temperature": 1.2, "top_p": 0.9}, {"a": 1})
    assert overlay(preset, Parameters({"top_p": 0.5}, {"b": 2})) == Parameters(
        {"temperature": 1.2, "top_p": 0.5}, {"a": 1, "b": 2}
    )


def test_columns_share_a_seed_but_keep_their_own() -> None:
    own = Column("own", ENDPOINT, "", Parameters({"seed": 1}))
    columns = [adding(column, "seed", 7) for column in (Column("a", ENDPOINT, "", Parameters()), own)]
    runs = [job.run for job in plan([TextPrompt("a")], columns, "group")]
    assert [run.request.parameters.get("seed") for run in runs] == [7, 1]
    assert [run.settings.get("seed") for run in runs] == [None, 1]


def test_a_resumed_sweep_sends_only_what_has_no_answer() -> None:
    sweep = Sweep(Request(TextPrompt("a")), (parse_axis("temperature=0,1"),), repeats=2)
    jobs = plan_sweep(sweep, ENDPOINT, "group")
    done = [job.run for job in jobs[:3]]
    for run, outcome in zip(done, (Outcome.COMPLETE, Outcome.ERROR, Outcome.STOPPED), strict=True):
        run.outcome = outcome
    again = plan_sweep(sweep, ENDPOINT, "group")
    assert with_answers(again, done) == [replace(again[0], run=done[0]), *again[1:]]


def test_columns_that_all_gave_the_same_text_say_so() -> None:
    same = [run_of(choice_of(["a", "b"])), run_of(choice_of(["a", "b"]))]
    assert any("same text" in remark for remark in remarks(same))
    assert remarks([same[0], run_of(choice_of(["c"]))]) == []


def _probe(**verdicts: ProbeVerdict) -> dict[str, Probe]:
    findings = tuple(Finding(name, verdict, "") for name, verdict in verdicts.items())
    return {"here": Probe("here", "m", datetime(2026, 3, 1, tzinfo=UTC), 9, findings)}


def _columns(*parameters: Parameters, endpoint: Endpoint = ENDPOINT) -> list[Column]:
    return [Column("c", endpoint, "", values) for values in parameters]


def test_parameters_that_differ_where_the_probe_saw_no_effect_are_named() -> None:
    columns = _columns(Parameters({"min_p": 0.1, "top_k": 5}), Parameters({"min_p": 0.2, "top_k": 5}))
    probed = _probe(min_p=ProbeVerdict.NO_EFFECT, top_k=ProbeVerdict.NO_EFFECT)
    assert ignored(columns, probed) == ["here ignores min_p (probed 2026-03-01)"]
    assert ignored(columns, _probe(min_p=ProbeVerdict.REFUSED))[0].startswith("here refuses min_p")
    assert ignored(columns, _probe(min_p=ProbeVerdict.HONOURED)) == ignored(columns, {}) == []


def test_parameters_that_differ_and_are_never_sent_are_named() -> None:
    columns = _columns(
        Parameters({"min_p": 0.1}), Parameters(), endpoint=ENDPOINT._replace(drop=frozenset({"min_p"}))
    )
    assert ignored(columns, {}) == ["not sent to here: min_p (unsupported by this endpoint)"]


def test_a_parameter_differs_in_vain_only_between_columns_of_its_endpoint() -> None:
    there = ENDPOINT._replace(name="there")
    columns = [*_columns(Parameters({"min_p": 0.1})), *_columns(Parameters(), endpoint=there)]
    assert ignored(columns, _probe(min_p=ProbeVerdict.NO_EFFECT)) == []


def test_rows_of_a_grid_whose_cells_all_say_the_same_are_counted() -> None:
    first, two = (run_of(choice_of([text])) for text in "ab")
    assert grid_remarks([[first, first], [first, two]]) == ["in 1 of 2 rows every answer is the same text"]
    assert grid_remarks([[first], [first]])[0].startswith("every cell gave the same text")
    assert grid_remarks([[first, two], [two, first]]) == []
