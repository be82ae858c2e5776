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
    ("text", "prompts"),
    [
        ("prompt;note\nName a bird;one\nName a tree;two\n", ("Name a bird", "Name a tree")),
        ('prompt;note\n"Name a bird, please";one\nName a tree;two\n', ("Name a bird, please", "Name a tree")),
        ("prompt\tnote\r\nName a bird;\tone\r\n", ("Name a bird;",)),
        ("note|prompt\n1|a, b; c\td\n", ("a, b; c\td",)),
        ('"note";"prompt"\n"1";"a;b"\n', ("a;b",)),
        ("id; prompt\n1;a\n", ("a",)),
        ("sep=;\r\nprompt;note\r\na, b;one\r\n", ("a, b",)),
        ('sep=,\n"prompt; long",prompt\n1,a\n', ("a",)),
        ('prompt\n"Hello, world; or\tnot"\n', ("Hello, world; or\tnot",)),
        ('prompt,id\n"two\n\nlines",1\n\nb,2', ("two\n\nlines", "b")),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_a_table_is_read_by_its_own_separator(
    name: str, text: str, prompts: tuple[str, ...], tmp_path: Path
) -> None:
    assert read_prompts(written(tmp_path, name, text)) == prompts


def test_a_column_is_found_by_name_whatever_separates(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "id;kind,of;q\n1;2;three, four\n")
    assert read_prompts(path, "q") == ("three, four",)
    assert read_prompts(path, "kind,of") == ("2",)


def test_a_quotation_mark_separates_nothing(tmp_path: Path) -> None:
    assert read_prompts(written(tmp_path, "a.csv", 'sep="\na"b\n')) == ('a"b',)


def test_a_text_may_be_as_long_as_its_file(tmp_path: Path) -> None:
    long = "word " * 40_000
    assert read_prompts(written(tmp_path, "a.csv", f"id,prompt\n1,{long}\n2,b\n")) == (long, "b")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", '"x"\n{', "line 2 is not JSON"),
        ("a.jsonl", '{"y": 1}', "line 1 has no text"),
        ("a.csv", "a,b\n1,2\n", "no column 'prompt'; it has: a, b"),
        ("a.csv", "a;b\n1;2\n", "no column 'prompt'; it has: a, b"),
        ("a.csv", "prompt\nx\nHello, world\n", "line 3 has 2 values for 1 column"),
        ("a.csv", "prompt,id\na,1\n\nb, c,2\n", "line 4 has 3 values for 2 columns"),
        ("a.csv", 'id,prompt\n1,"a\nb"\n2\n', "line 4 has no value for 'prompt'"),
        ("a.csv", 'prompt,id\n"a\nb",1\n"c" d,2\n', "line 4 is not valid CSV"),
        ("a.csv", 'sep=;\nprompt;id\n"a\nb";1\n"c\n', "line 5 is not valid CSV"),
        ("a.csv", "", "does not name columns"),
        ("a.txt", "\n\n", "has no prompts"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(StorageError) as caught:
        read_prompts(written(tmp_path, name, text))
    assert message in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"gone\.txt cannot be read"):
        read_prompts(tmp_path / "gone.txt")


def test_a_text_file_has_no_columns(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"a\.txt has no column 'q'"):
        read_prompts(written(tmp_path, "a.txt", "one"), "q")
