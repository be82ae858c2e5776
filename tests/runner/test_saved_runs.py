"""Comparing runs that are over: what each was made with, and what is said of them."""

from __future__ import annotations

from tests.domain.builders import choice_of, run_of
from workbench.domain.parameters import Parameters
from workbench.domain.run import Run
from workbench.runner.compare_plan import SavedRun, saved_column, saved_remarks
from workbench.storage.endpoint_list import EndpointList

NO_ENDPOINTS = EndpointList({}, [], frozenset(), {})


def run(*texts: str, prompt: str = "Once", model: str = "") -> Run:
    """A run that has ended."""
    made = run_of(choice_of(texts), prompt=prompt)
    made.model = model
    return made


def test_a_column_has_what_its_run_was_made_with_also_where_the_endpoint_is_gone() -> None:
    saved = run("a")
    saved.request = saved.request._replace(parameters=Parameters({"temperature": 0.5}), model="asked")
    saved.preset = "warm"
    column = saved_column(SavedRun("run 1", saved), NO_ENDPOINTS)
    assert (column.title, column.model, column.preset) == ("run 1", "asked", "warm")
    assert (column.endpoint.name, column.endpoint.base_url) == ("test", "")
    assert column.parameters.get("temperature") == 0.5


def test_a_run_at_a_bare_url_keeps_its_address() -> None:
    saved = run("a")
    saved.endpoint = "http://127.0.0.1:9/v1"
    assert saved_column(SavedRun("run 1", saved), NO_ENDPOINTS).endpoint.base_url == saved.endpoint


def test_runs_of_one_request_are_held_against_each_other() -> None:
    assert saved_remarks([run("a", "b"), run("a", "b")]) == ["the same request: identical 2/2"]
    (remark,) = saved_remarks([run("a", "b"), run("a", "c")])
    assert remark.startswith("the same request: 1/2 equal, diverges at token 2")


def test_other_prompts_and_models_are_said() -> None:
    remarks = saved_remarks([run("a", prompt="x", model="m"), run("a", prompt="y", model="n")])
    assert remarks == ["the prompts differ", "answered by different models: m, n"]
