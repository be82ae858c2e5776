"""A session survives being written and read, whatever it holds."""

from __future__ import annotations

import tomllib

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.domain.builders import choice_of, piece, run_of
from tests.storage.session_cases import essence, runs, sessions
from workbench.domain.choice import Piece
from workbench.domain.run import Run
from workbench.domain.session import Session
from workbench.storage.run_format import run_to_toml
from workbench.storage.session_format import head_to_toml, session_from_tables

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
    run = run_of(choice_of([Piece("a\ud800b")]), prompt="\udfff")
    (again,) = _reread(Session(title="\ud83d", runs=[run])).runs
    assert again.choices[0].text == "a\ufffdb"
    assert again.sent["prompt"] == "\ufffd"


def test_a_person_meets_prompt_and_answers_before_the_token_columns() -> None:
    run = run_of(choice_of([piece("one", 0.5, two=0.2)], 0), choice_of([piece("uno", 0.5)], 1))
    text = run_to_toml(run)
    assert text.index("prompt =") < text.index('"one"') < text.index('"uno"') < text.index("[[runs.tokens]]")
    assert max(map(len, text.splitlines())) < 120


def test_a_session_without_runs_writes_no_empty_list_of_runs() -> None:
    assert "runs" not in head_to_toml(Session())
