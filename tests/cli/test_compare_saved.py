"""`workbench compare --runs`: runs of session files side by side, without any endpoint."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_sessions import session_file
from tests.domain.builders import choice_of, run_of, token_of
from workbench.cli import main
from workbench.domain.run import Run


def saying(*texts: str) -> Run:
    """A run whose tokens each had an alternative."""
    return run_of(choice_of([token_of(text, 0.5, other=0.25) for text in texts]))


def test_two_runs_of_two_sessions_are_a_table_and_the_token_in_which_they_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, other = saying(" upon", " a"), saying(" upon", "\x1b[31m the")
    first, second = (
        session_file(tmp_path / "a.toml", run),
        session_file(tmp_path / "b.toml", saying("x"), other),
    )
    assert main(["compare", "--runs", f"{first}", f"{second}#{other.id[:8]}"]) == 0
    printed = capsys.readouterr()
    assert f"a#{run.id[:8]}" in printed.out and f"b#{other.id[:8]}" in printed.out
    assert "1 token in common; diverges at token 2:" in printed.out
    assert "·a 50.0%   of: ·a 50.0%  other 25.0%" in printed.out
    assert "\x1b" not in printed.out
    assert "note: the same request: 1/2 equal" in printed.err


def test_the_same_run_in_two_sessions_is_identical(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = saying(" upon", " a")
    files = [session_file(tmp_path / f"{name}.toml", run) for name in "ab"]
    assert main(["compare", "--json", "--runs", *(f"{file}#{run.id}" for file in files)]) == 0
    compared = json.loads(capsys.readouterr().out)
    assert (compared["shared_tokens"], compared["first_difference"], len(compared["runs"])) == (2, None, 2)


def test_two_scorings_of_one_text_are_not_called_answers_that_are_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, other = saying("Once", " upon"), saying("On", "ce upon")
    for scoring in (run, other):
        scoring.choices[0].echoed = len(scoring.choices[0])
    first, second = session_file(tmp_path / "a.toml", run), session_file(tmp_path / "b.toml", other)
    assert main(["compare", "--runs", f"{first}", f"{second}"]) == 0
    printed = capsys.readouterr()
    assert "text" in printed.out and "diverges" not in printed.out
    assert not printed.err


def test_a_run_that_is_not_there_is_named_and_one_alone_is_no_comparison(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = session_file(tmp_path / "a.toml", saying("x"))
    with pytest.raises(SystemExit) as caught:
        main(["compare", "--runs", str(file), f"{file}#nobody"])
    assert caught.value.code == 2
    assert "there is no run 'nobody'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["compare", "--runs", str(file)])
    assert "at least two runs" in capsys.readouterr().err
