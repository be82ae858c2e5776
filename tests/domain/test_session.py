"""Sessions and the tree of their branches."""

from __future__ import annotations

from tests.domain.builders import choice_of, run_of
from workbench.domain.run import Parent, Run
from workbench.domain.run_tree import branches, lineage, subtree
from workbench.domain.session import Session


def _run(name: str, parent: str = "") -> Run:
    run = run_of(choice_of(["a"]))
    run.id = name
    run.parent = Parent(parent) if parent else None
    return run


def test_branches_follow_their_parents_depth_first() -> None:
    runs = [_run("a"), _run("b", "a"), _run("c"), _run("d", "a"), _run("e", "b")]
    assert [(depth, run.id) for depth, run in branches(runs)] == [
        (0, "a"),
        (1, "b"),
        (2, "e"),
        (1, "d"),
        (0, "c"),
    ]


def test_a_run_whose_parent_is_missing_is_a_root() -> None:
    assert [(depth, run.id) for depth, run in branches([_run("a", "gone")])] == [(0, "a")]


def test_a_circle_of_parents_still_lists_every_run_once() -> None:
    runs = [_run("a", "b"), _run("b", "a"), _run("c", "c")]
    assert sorted(run.id for _, run in branches(runs)) == ["a", "b", "c"]
    assert [run.id for run in lineage(runs, runs[0])] == ["b", "a"]


def test_the_lineage_of_a_branch_begins_with_its_oldest_run() -> None:
    runs = [_run("a"), _run("b", "a"), _run("c", "b")]
    assert [run.id for run in lineage(runs, runs[2])] == ["a", "b", "c"]


def test_what_branches_from_a_run_goes_with_it() -> None:
    runs = [_run("a"), _run("b", "a"), _run("c"), _run("d", "a"), _run("e", "b")]
    assert [run.id for run in subtree(runs, runs[1])] == ["b", "e"]
    assert [run.id for run in subtree(runs, runs[0])] == ["a", "b", "e", "d"]
    assert [run.id for run in subtree(runs, runs[2])] == ["c"]
    assert subtree(runs, _run("elsewhere")) == []


def test_a_session_finds_its_runs_by_id() -> None:
    session = Session(runs=[_run("a")])
    assert session.run("a") is session.runs[0]
    assert session.run("b") is None
