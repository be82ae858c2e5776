"""The progress of a check comes back whole, however it ended, and takes no other file's place."""

from __future__ import annotations

from contextlib import closing
from math import inf
from pathlib import Path

import pytest

from workbench.domain.agreement import Agreement, Sum
from workbench.domain.errors import StorageError
from workbench.domain.json_values import JsonValue
from workbench.domain.regression_case import CaseResult, CaseVerdict, Difference, ReportedToken
from workbench.storage.check_progress import CheckProgress

SETTINGS: dict[str, JsonValue] = {"files": ["caf\udce9.toml"], "times": 2}
RESULT = CaseResult(
    0,
    "caf\udce9.toml",
    "id",
    "half a pair: \ud83d",
    CaseVerdict.DIFFERS,
    2,
    1,
    Agreement(1, Sum(1, 1.0, 1.0), Sum(1, 0.5, 0.5), Sum(1, inf, inf)),
    ("the text diverges at token 1",),
    Difference(0, 0, ReportedToken("\ud83d", -1.5, (("a", None),)), ReportedToken("")),
)


def test_any_result_comes_back_as_it_was(tmp_path: Path) -> None:
    with closing(CheckProgress(tmp_path / "progress", SETTINGS)) as progress:
        progress.add(RESULT)
    with closing(CheckProgress(tmp_path / "progress", SETTINGS)) as progress:
        assert progress.done == [RESULT]


def test_a_check_killed_anywhere_goes_on_behind_its_last_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "progress"
    with closing(CheckProgress(path, SETTINGS)) as progress:
        progress.add(RESULT)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with closing(CheckProgress(path, SETTINGS)) as progress:
            assert progress.done == []
            progress.add(RESULT)
        assert path.read_bytes() == whole


@pytest.mark.parametrize("text", ["a note", "a note\n", '{"times": 3}', '{"times": 3}\n'])
def test_another_file_stays_as_it_is(tmp_path: Path, text: str) -> None:
    (tmp_path / "notes").write_text(text)
    with pytest.raises(StorageError, match="belongs to another check"):
        CheckProgress(tmp_path / "notes", SETTINGS)
    assert (tmp_path / "notes").read_text() == text


@pytest.mark.parametrize("line", ["{", "[]", '{"number": "first"}'])
def test_an_invalid_line_is_an_error_of_the_file(tmp_path: Path, line: str) -> None:
    path = tmp_path / "progress"
    CheckProgress(path, SETTINGS).close()
    path.write_bytes(path.read_bytes() + line.encode() + b"\n")
    with pytest.raises(StorageError, match="cannot hold the progress"):
        CheckProgress(path, SETTINGS)
