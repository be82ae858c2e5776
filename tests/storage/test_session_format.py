"""A session survives being written and read, whatever it holds."""

from __future__ import annotations

import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.domain.builders import choice_of, run_of, token_of
from tests.storage.session_cases import essence, runs, sessions
from workbench.domain.choice import ReceivedToken
from workbench.domain.errors import StorageError
from workbench.domain.run import Run
from workbench.domain.session import Session
from workbench.storage.run_format import run_to_toml
from workbench.storage.session_file import iterate_runs
from workbench.storage.session_format import head_to_toml, session_from_tables
from workbench.storage.session_store import append_runs

_relaxed = settings(deadline=None, max_examples=50, suppress_health_check=list(HealthCheck))


def _reread(session: Session) -> Session:
    text = head_to_toml(session) + "".join(map(run_to_toml, session.runs))
    return session_from_tables(tomllib.loads(text.encode().decode()))


@_relaxed
@given(sessions)
def test_a_session_reads_as_it_was_written(session: Session) -> None:
    again = _reread(session)
    assert list(map(essence, again.runs)) == list(map(essence, session.runs))
    again.runs, session.runs = [], []
    assert again == session


@_relaxed
@given(st.lists(runs(), min_size=1, max_size=3))
def test_runs_appended_to_a_head_are_one_valid_file(some: list[Run]) -> None:
    assert [run.id for run in _reread(Session(runs=some)).runs] == [run.id for run in some]


def test_lone_surrogates_become_replacement_characters() -> None:
    run = run_of(choice_of([ReceivedToken("a\ud800b")]), prompt="\udfff")
    (again,) = _reread(Session(title="\ud83d", runs=[run])).runs
    assert again.choices[0].text == "a\ufffdb"
    assert again.sent["prompt"] == "\ufffd"


def test_a_person_meets_prompt_and_answers_before_the_token_columns() -> None:
    run = run_of(choice_of([token_of("one", 0.5, two=0.2)], 0), choice_of([token_of("uno", 0.5)], 1))
    text = run_to_toml(run)
    assert text.index("prompt =") < text.index('"one"') < text.index('"uno"') < text.index("[[runs.tokens]]")
    assert max(map(len, text.splitlines())) < 120


def test_a_session_without_runs_writes_no_empty_list_of_runs() -> None:
    assert "runs" not in head_to_toml(Session())


@_relaxed
@given(sessions)
def test_runs_read_one_by_one_are_those_of_the_whole_file(session: Session) -> None:
    text = head_to_toml(session) + "".join(map(run_to_toml, session.runs))
    with TemporaryDirectory() as folder:
        path = Path(folder, "session.toml")
        path.write_bytes(text.encode())
        assert list(map(essence, iterate_runs(path))) == list(map(essence, session.runs))
        for run, whole in zip(iterate_runs(path, with_tokens=False), session.runs, strict=True):
            assert (run.id, run.request, run.outcome) == (whole.id, whole.request, whole.outcome)
            texts = {index: choice.text for index, choice in whole.choices.items()}
            assert {index: choice.text for index, choice in run.choices.items()} == texts


def test_a_broken_run_is_named_by_its_line_after_those_before_it(tmp_path: Path) -> None:
    first, last = (run_to_toml(run_of(choice_of([text]))) for text in ("fine", "lost"))
    path = tmp_path / "torn.toml"
    path.write_text(f"format = 1\n{first}{last[:-8]}", "utf-8")
    reading = iterate_runs(path)
    assert next(reading).choices[0].text == "fine"
    with pytest.raises(StorageError, match="not a readable session") as caught:
        next(reading)
    assert caught.value.line == path.read_text("utf-8").count("\n") + 1


def test_a_prompt_that_holds_the_mark_of_runs_many_times_is_read(tmp_path: Path) -> None:
    runs = [run_of(choice_of(["a"]), prompt="\n[[runs]]\n" * 100), run_of(choice_of(["b"]))]
    path = tmp_path / "marks.toml"
    path.write_text(head_to_toml(Session(runs=runs)) + "".join(map(run_to_toml, runs)), "utf-8")
    assert [run.id for run in iterate_runs(path)] == [run.id for run in runs]


def test_runs_are_appended_without_reading_the_file(tmp_path: Path) -> None:
    path = tmp_path / "kept.toml"
    path.write_bytes(head_to_toml(Session()).replace("\n", "\r\n").encode())
    runs = [run_of(choice_of([token_of("a", 0.5)])), run_of(choice_of(["b\n"]))]
    append_runs(path, runs[:1])
    append_runs(path, runs[1:])
    assert [(run.id, run.choices[0].text) for run in iterate_runs(path)] == [
        (runs[0].id, "a"),
        (runs[1].id, "b\n"),
    ]
    assert b"\r\n[[runs]]\r\n" in path.read_bytes()
    assert [file.name for file in tmp_path.iterdir()] == ["kept.toml"]


def test_runs_are_not_appended_where_there_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"gone\.toml cannot be written"):
        append_runs(tmp_path / "gone.toml", [])
