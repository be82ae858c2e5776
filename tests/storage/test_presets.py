"""Presets: shipped, saved, renamed, copied, removed, handed on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workbench.domain.errors import StorageError
from workbench.domain.json_values import JsonValue
from workbench.domain.parameters import Parameters
from workbench.domain.preset import Preset
from workbench.storage.files import Folders
from workbench.storage.presets import (
    delete_preset,
    duplicate_preset,
    export_preset,
    import_preset,
    load_presets,
    presets_folder,
    read_preset,
    rename_preset,
    save_preset,
    write_preset,
)


@pytest.fixture
def folders() -> Folders:
    return Folders.default(os.environ)


def write(folders: Folders, name: str, text: str) -> Path:
    path = presets_folder(folders) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


MINE = Preset(
    "Mine / [x] é",
    Parameters(
        {"temperature": 0.3, "stop": ("\n", "\r\n\x00"), "logit_bias": {"50256": -100}, "stream": False},
        {"grammar": "root ::= x", "nested": {"a": [1, 2.5, True]}},
    ),
    "vllm",
    "a/b",
    "for tests\n",
)


def test_the_shipped_presets_are_read_in_their_order_and_within_the_contract(folders: Folders) -> None:
    loaded = load_presets(folders)
    assert list(loaded.presets) == ["greedy", "precise", "balanced", "creative", "pure", "reproducible"]
    assert loaded.problems == []
    assert not loaded.files
    for preset in loaded.presets.values():
        assert preset.note
        assert list(preset.parameters.problems()) == []
    assert loaded.presets["greedy"].parameters.get("temperature") == 0
    assert loaded.presets["reproducible"].parameters.get("seed") == 1


def test_a_saved_preset_reads_back_as_it_was(folders: Folders) -> None:
    path = save_preset(folders, MINE)
    assert load_presets(folders).presets[MINE.name] == MINE
    assert path.parent == presets_folder(folders)
    assert path.name == "mine-x-e.toml"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.dictionaries(st.text(min_size=1), JSON, max_size=4),
)
def test_any_note_and_any_extra_json_survive_a_file(
    tmp_path: Path, note: str, extra: dict[str, JsonValue]
) -> None:
    preset = Preset("x", Parameters({"temperature": 1}, extra), note=note)
    path = tmp_path / "x.toml"
    path.write_bytes(write_preset(preset))
    assert read_preset(path) == preset


def test_half_a_surrogate_pair_is_refused_and_nothing_is_written(folders: Folders) -> None:
    with pytest.raises(StorageError):
        save_preset(folders, Preset("x", note="\ud800"))
    assert not presets_folder(folders).exists()


def test_saving_again_replaces_and_two_names_never_share_a_file(folders: Folders) -> None:
    first = save_preset(folders, Preset("a b", note="1"))
    second = save_preset(folders, Preset("a-b", note="2"))
    assert first != second
    assert save_preset(folders, Preset("a b", note="3")) == first
    presets = load_presets(folders).presets
    assert (presets["a b"].note, presets["a-b"].note) == ("3", "2")


def test_a_person_may_replace_a_shipped_preset_and_get_it_back(folders: Folders) -> None:
    save_preset(folders, Preset("greedy", note="mine"))
    assert load_presets(folders).presets["greedy"].note == "mine"
    delete_preset(folders, "greedy")
    assert load_presets(folders).presets["greedy"].note != "mine"


def test_renaming_keeps_everything_else(folders: Folders) -> None:
    path = save_preset(folders, MINE)
    renamed = rename_preset(folders, MINE.name, "other")
    loaded = load_presets(folders)
    assert MINE.name not in loaded.presets
    assert loaded.presets["other"] == renamed
    assert renamed.parameters == MINE.parameters
    assert loaded.files["other"] == path


def test_renaming_never_covers_another_preset(folders: Folders) -> None:
    save_preset(folders, MINE)
    with pytest.raises(StorageError, match="already"):
        rename_preset(folders, MINE.name, "greedy")
    with pytest.raises(StorageError, match="built in"):
        rename_preset(folders, "greedy", "mine")
    with pytest.raises(StorageError, match="no preset"):
        rename_preset(folders, "nobody", "mine")
    assert load_presets(folders).presets[MINE.name] == MINE


def test_any_preset_can_be_duplicated(folders: Folders) -> None:
    assert duplicate_preset(folders, "greedy").name == "greedy 2"
    assert duplicate_preset(folders, "greedy").name == "greedy 3"
    presets = load_presets(folders).presets
    assert presets["greedy 3"].parameters == presets["greedy"].parameters
    with pytest.raises(StorageError, match="no preset"):
        duplicate_preset(folders, "nobody")


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "\x1b[2J", "x" * 81])
def test_a_name_must_be_one_visible_line(folders: Folders, name: str) -> None:
    with pytest.raises(StorageError):
        save_preset(folders, Preset(name))


def test_deleting_what_is_not_the_persons_is_refused(folders: Folders) -> None:
    for name in ("greedy", "nobody"):
        with pytest.raises(StorageError):
            delete_preset(folders, name)


def test_a_preset_is_handed_on_as_a_file(folders: Folders, tmp_path: Path) -> None:
    file = tmp_path / "handed.toml"
    export_preset(MINE, file)
    assert import_preset(folders, file) == MINE
    assert import_preset(folders, file).name == f"{MINE.name} 2"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('note = "x"\n[parameters]\ntemperature = "hot"\n', 3, "finite number"),
        ("[parameters]\ntemprature = 1\n", 2, "not a known key"),
        ("[parameters]\nn = 1.5\n", 2, "whole number"),
        ('name = "x\n', 1, "TOML"),
        ('\nnaem = "x"\n', 2, "known key"),
        ("extra = 3\n", 1, "JSON object"),
        ('extra = "[1"\n', 1, "JSON object"),
        ("parameters = 3\n", 1, "table"),
    ],
)
def test_a_broken_file_is_listed_with_its_line_and_left_alone(
    folders: Folders, text: str, line: int, message: str
) -> None:
    path = write(folders, "broken.toml", text)
    loaded = load_presets(folders)
    (problem,) = loaded.problems
    assert (problem.path, problem.line) == (str(path), line)
    assert message in problem.title
    save_preset(folders, Preset("broken"))
    assert path.read_text() == text
    assert "broken" in load_presets(folders).presets


def test_two_files_with_one_name_are_told(folders: Folders) -> None:
    write(folders, "a.toml", 'name = "x"\nnote = "first"\n')
    write(folders, "b.toml", 'name = "x"\n')
    loaded = load_presets(folders)
    (problem,) = loaded.problems
    assert "b.toml" in problem.title
    assert "a.toml" in problem.message
    assert loaded.presets["x"].note == "first"


def test_a_file_without_a_name_is_called_after_itself(folders: Folders) -> None:
    write(folders, "plain.toml", "[parameters]\ntop_k = 5\n")
    assert load_presets(folders).presets["plain"].parameters.get("top_k") == 5


def test_the_difference_to_other_parameters_is_one_line() -> None:
    preset = Preset("p", Parameters({"temperature": 0.2, "seed": 1}))
    assert preset.difference(preset.parameters) == ""
    other = Parameters({"temperature": 0.7, "top_k": 5}, {"grammar": "x"})
    assert (
        preset.difference(other) == "temperature 0.2 → 0.7 · top_k unset → 5 · seed 1 → unset · extra differs"
    )
