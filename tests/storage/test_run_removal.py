"""Runs are taken out of a session, brought back and put in order; all others stay byte for byte."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.domain.builders import choice_of, run_of, token_of
from tests.storage.session_cases import runs
from workbench.domain.errors import StorageError
from workbench.domain.run import Run
from workbench.storage.run_format import run_to_toml, with_runs
from workbench.storage.session_file import parse_runs
from workbench.storage.session_store import SessionStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lighthouse.toml"


def _run(text: str, prompt: str = "Once") -> Run:
    run = run_of(choice_of([token_of(text, 0.5, two=0.25), " more"]), prompt=prompt)
    run.sent = run.request.body()
    return run


def _session(path: Path) -> tuple[SessionStore, list[Run]]:
    store = SessionStore.create(path)
    made = [_run(" one"), _run(" two"), _run(" three")]
    for run in made:
        store.finish(run)
    return store, made


def _ids(path: Path) -> list[str]:
    return [run["id"] for run in tomllib.loads(path.read_text()).get("runs", [])]


@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_removed_run_leaves_the_file_and_comes_back_where_it_was(path: Path, index: int) -> None:
    store, made = _session(path)
    before = path.read_bytes()
    store.remove(made[index])
    assert _ids(path) == [run.id for run in made if run is not made[index]]
    store.restore(made[index], made[index + 1].id if index < 2 else "")
    assert path.read_bytes() == before
    assert [run.id for run in store.session.runs] == [run.id for run in made]
    store.close()


def test_all_runs_can_be_removed_and_another_one_appended(path: Path) -> None:
    store, made = _session(path)
    for run in made:
        store.remove(run)
    assert _ids(path) == []
    last = _run(" four")
    store.finish(last)
    store.close()
    assert _ids(path) == [last.id]


def test_a_removed_run_stays_removed_while_another_window_goes_on(path: Path) -> None:
    store, made = _session(path)
    second = SessionStore.open(path).store
    store.remove(made[0])
    theirs = _run(" theirs")
    second.finish(theirs)
    second.rename("named")
    second.close()
    assert _ids(path) == [made[1].id, made[2].id, theirs.id]
    assert [run.id for run in store.poll().runs] == [theirs.id]
    store.close()


def test_a_run_that_another_window_removed_comes_back_with_nothing_that_is_written(path: Path) -> None:
    store, made = _session(path)
    second = SessionStore.open(path).store
    store.remove(made[1])
    second.put_in_order([made[2].id, made[1].id, made[0].id])
    assert _ids(path) == [made[2].id, made[0].id]
    # What a person has edited is written anew as a whole.
    path.write_text(path.read_text().replace("endpoint = ", "endpoint  =  "))
    second.name_run(made[0], "named")
    second.remove(made[2])
    second.restore(made[2], made[1].id)
    assert _ids(path) == [made[2].id, made[0].id]
    second.close()
    store.close()


def test_a_run_edited_by_hand_is_removed_too(path: Path) -> None:
    store, made = _session(path)
    path.write_text(path.read_text().replace("endpoint = ", "endpoint  =  "))
    store.remove(made[1])
    store.close()
    assert _ids(path) == [made[0].id, made[2].id]


def test_a_run_stays_where_it_cannot_be_removed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, made = _session(path)
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise StorageError("no space")

    with monkeypatch.context() as patched:
        patched.setattr("workbench.storage.session_store.write_atomically", full)
        with pytest.raises(StorageError):
            store.remove(made[1])
    assert path.read_bytes() == before
    assert [run.id for run in store.session.runs] == [run.id for run in made]
    store.remove(made[1])
    assert len(_ids(path)) == 2
    store.close()


@settings(deadline=None, max_examples=20, suppress_health_check=list(HealthCheck))
@given(runs(), runs(), st.booleans())
def test_any_run_is_cut_out_of_any_runs_and_put_back(run: Run, other: Run, is_first: bool) -> None:
    order = [run, other] if is_first else [other, run]
    body = "".join(map(run_to_toml, order)).encode()
    left = with_runs(body, run, ())
    assert left == run_to_toml(other).encode()
    assert with_runs(left, *((other, (run, other)) if is_first else (None, (run,)))) == body
    # Read and written again it is still found, which keeps the others' bytes.
    assert with_runs(body, parse_runs(body, Path("any.toml"))[order.index(run)], ()) == left


# --- order -------------------------------------------------------------------------------------------


def test_runs_are_put_in_order_at_the_places_they_have_and_all_other_bytes_stay(path: Path) -> None:
    store, made = _session(path)
    store.session.runs[1].other = {"x-note": "kept"}
    whole = path.read_bytes()
    store.put_in_order([made[2].id, made[0].id])
    assert _ids(path) == [made[2].id, made[1].id, made[0].id]
    assert [run.id for run in store.session.runs] == _ids(path)
    store.put_in_order([made[0].id, made[2].id])
    assert path.read_bytes() == whole
    store.close()


def test_runs_edited_by_hand_or_removed_meanwhile_are_put_in_order_too(path: Path) -> None:
    store, made = _session(path)
    path.write_text(path.read_text().replace("endpoint = ", "endpoint  =  "))
    store.remove(made[1])
    store.put_in_order([made[2].id, made[1].id, made[0].id])
    store.close()
    assert _ids(path) == [made[2].id, made[0].id]


def test_the_order_stays_where_it_cannot_be_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, made = _session(path)

    def full(*_: object) -> None:
        raise StorageError("no space")

    with monkeypatch.context() as patched:
        patched.setattr("workbench.storage.session_store.write_atomically", full)
        with pytest.raises(StorageError):
            store.put_in_order([made[1].id, made[0].id])
    assert _ids(path) == [run.id for run in store.session.runs] == [run.id for run in made]
    store.close()


# --- names -------------------------------------------------------------------------------------------


def test_a_name_is_written_and_all_other_bytes_stay(path: Path) -> None:
    store, made = _session(path)
    store.session.runs[1].other = {"x-note": "kept"}
    before = path.read_bytes()
    store.name_run(made[0], "the calm one")
    assert tomllib.loads(path.read_text())["runs"][0]["name"] == "the calm one"
    store.name_run(made[0], "")
    assert path.read_bytes() == before
    store.name_run(made[1], "with what is unknown")
    stored = tomllib.loads(path.read_text())["runs"][1]
    assert (stored["name"], stored["x-note"]) == ("with what is unknown", "kept")
    store.close()


def test_a_name_outlives_what_another_window_wrote_meanwhile(path: Path) -> None:
    store, made = _session(path)
    other = SessionStore.open(path).store
    other.rename("renamed there")
    store.name_run(made[2], "mine")
    assert [run.name for run in store.session.runs] == ["", "", "mine"]
    assert [run.name for run in other.poll().runs] == []
    other.close()
    store.close()
    assert [run.get("name", "") for run in tomllib.loads(path.read_text())["runs"]] == ["", "", "mine"]


@settings(deadline=None, max_examples=20, suppress_health_check=list(HealthCheck))
@given(st.lists(runs(), min_size=1, max_size=3, unique_by=lambda run: run.id), st.text(max_size=9))
def test_any_run_among_others_takes_any_name(some: list[Run], name: str) -> None:
    body = "".join(map(run_to_toml, some)).encode()
    run, was = some[-1], some[-1].name
    run.name = name
    named = with_runs(body, replace(run, name=was), (run,))
    assert named == "".join(map(run_to_toml, some)).encode()
