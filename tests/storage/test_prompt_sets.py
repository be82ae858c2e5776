"""Prompt sets from text, JSON Lines and CSV files."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.domain.errors import StorageError
from workbench.storage.prompt_sets import read_prompts


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def test_a_text_file_holds_a_prompt_a_line(tmp_path: Path) -> None:
    assert read_prompts(written(tmp_path, "a.txt", "one\r\n\ntwo \n")) == ("one", "two ")


def test_a_line_of_hyphens_divides_longer_prompts(tmp_path: Path) -> None:
    assert read_prompts(written(tmp_path, "a.txt", "one\ntwo\n---\nthree\n")) == ("one\ntwo", "three")


def test_json_lines_hold_texts_or_objects(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", '"one"\n{"prompt": "two\\nlines", "x": 1}\n')
    assert read_prompts(path) == ("one", "two\nlines")
    path = written(tmp_path, "b.jsonl", '{"q": "one"}')
    assert read_prompts(path, "q") == ("one",)


def test_csv_finds_its_column(tmp_path: Path) -> None:
    assert read_prompts(written(tmp_path, "a.csv", 'id,prompt\n1,"a, ""b""\nc"\n2,d\n')) == ('a, "b"\nc', "d")
    assert read_prompts(written(tmp_path, "a.tsv", "only\nx\n")) == ("x",)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.jsonl", '"x"\n{', "line 2 is no JSON"),
        ("a.jsonl", '{"y": 1}', "line 1 holds no text"),
        ("a.csv", "a,b\n1,2\n", "no column 'prompt'; it has: a, b"),
        ("a.txt", "\n\n", "holds no prompts"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, name: str, text: str, told: str) -> None:
    with pytest.raises(StorageError) as caught:
        read_prompts(written(tmp_path, name, text))
    assert told in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"gone\.txt cannot be read"):
        read_prompts(tmp_path / "gone.txt")
