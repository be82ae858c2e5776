"""What a person configures, and what the program remembers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from workbench.domain.errors import StorageError
from workbench.storage.config import (
    Config,
    State,
    chosen_colour_by,
    chosen_theme,
    chosen_thresholds,
    config_file,
    load_config,
    load_state,
    save_state,
)
from workbench.storage.files import Folders, write_atomically


@pytest.fixture
def folders() -> Folders:
    return Folders.default(os.environ)


def write(folders: Folders, text: str) -> Path:
    path = config_file(folders)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def only_problem(folders: Folders) -> StorageError:
    (problem,) = load_config(folders).problems
    return problem


def test_workbench_home_holds_every_folder(tmp_path: Path) -> None:
    folders = Folders.default({"WORKBENCH_HOME": str(tmp_path)})
    assert {folders.config.parent, folders.data.parent, folders.state.parent} == {tmp_path}


def test_without_workbench_home_the_folders_are_the_systems_and_carry_the_programs_name() -> None:
    folders = Folders.default({})
    assert all(
        "completion-workbench" in str(folder) for folder in (folders.config, folders.data, folders.state)
    )


def test_no_file_is_all_defaults_and_makes_no_folder(folders: Folders) -> None:
    loaded = load_config(folders)
    assert (loaded.config, loaded.problems) == (Config(), ())
    assert not folders.config.exists()


def test_every_key_is_read(folders: Folders) -> None:
    write(
        folders,
        'endpoint = "jiekou"\npreset = "greedy"\ntheme = "light"\ncolour_by = "entropy"\nconfirm_above = 0\n'
        'autosave = false\neditor = "nvim -f"\nsurprising = 0.02\nlow_coverage = 0.9\nbranch_ids = true\n'
        "reduced_motion = true\n"
        '[keys]\nrun = "f6,ctrl+j"\n',
    )
    loaded = load_config(folders)
    assert loaded.problems == ()
    keys = {"run": "f6,ctrl+j"}
    assert loaded.config == Config(
        "jiekou", "greedy", "light", "entropy", 0, False, "nvim -f", keys, 0.02, 0.9, True, True
    )


def test_an_unknown_key_suggests_the_nearest_and_the_rest_holds(folders: Folders) -> None:
    path = write(folders, '# mine\nendpoint = "jiekou"\ncolor_by = "rank"\n')
    problem = only_problem(folders)
    assert "colour_by" in problem.hint
    assert (problem.path, problem.line) == (str(path), 3)
    assert load_config(folders).config.endpoint == "jiekou"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("theme = 3\n", 1, "a string in quotes"),
        ('\ncolour_by = "hue"\n', 2, "probability"),
        ("confirm_above = -1\n", 1, "at least 0"),
        ("confirm_above = true\n", 1, "whole number"),
        ('\n\nautosave = "yes"\n', 3, "true or false"),
        ("surprising = 1\n", 1, "between 0 and 1"),
        ("[keys]\nrun = 1\n", 2, "a string in quotes"),
        ('keys = "x"\n', 1, "table"),
    ],
)
def test_a_wrong_value_names_file_line_and_what_is_wanted(
    folders: Folders, text: str, line: int, message: str
) -> None:
    write(folders, text)
    problem = only_problem(folders)
    assert problem.line == line
    assert f"config.toml, line {line}" in problem.title
    assert message in problem.title
    assert load_config(folders).config == Config()


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        (b'theme = "dark"\nendpoint = jiekou\n', 2),
        (b"theme = 'dark'\n\xff\n", 2),
        (b'theme = "dark\n', 1),
        (b"a = " + b"[" * 5000, 1),
        (b"a = " + b"9" * 5000, 1),
    ],
)
def test_a_broken_file_is_named_with_its_line_and_is_not_touched(
    folders: Folders, raw: bytes, line: int
) -> None:
    path = write(folders, "")
    path.write_bytes(raw)
    loaded = load_config(folders)
    assert loaded.config == Config()
    assert [problem.line for problem in loaded.problems] == [line]
    assert path.read_bytes() == raw


def test_a_file_that_begins_with_a_byte_order_mark_is_read(folders: Folders) -> None:
    write(folders, "").write_bytes(b'\xef\xbb\xbftheme = "light"\n')
    assert load_config(folders).config.theme == "light"


def test_a_folder_in_the_files_place_is_a_problem_not_a_crash(folders: Folders) -> None:
    config_file(folders).mkdir(parents=True)
    assert "cannot be read" in only_problem(folders).title


def test_lines_are_right_below_multi_line_texts_and_quoted_keys(folders: Folders) -> None:
    write(folders, 'editor = """\ntheme = 1\n"""\n"theme" = 2\n')
    assert only_problem(folders).line == 4


def test_problems_are_told_without_control_characters(folders: Folders) -> None:
    write(folders, '"\\u001b[31m[/x]" = 1\n')
    message = str(only_problem(folders))
    assert "\x1b" not in message
    assert "\\e[31m[/x]" in message


def test_the_state_is_remembered(folders: Folders) -> None:
    state = State("/tmp/sé ssion.toml", "light", "rank")
    save_state(folders, state)
    assert load_state(folders) == state
    save_state(folders, State())
    assert load_state(folders) == State()


def test_a_damaged_state_is_forgotten(folders: Folders) -> None:
    save_state(folders, State(theme="light"))
    (folders.state / "state.toml").write_text("theme = [")
    assert load_state(folders) == State()


def test_the_persons_setting_goes_before_what_was_picked_last() -> None:
    assert chosen_theme(Config(theme="light"), State(theme="ink")) == "light"
    assert chosen_theme(Config(), State(theme="ink")) == "ink"
    assert chosen_theme(Config(), State()) == "dark"
    assert chosen_colour_by(Config(colour_by="off"), State(colour_by="rank")) == "off"
    assert chosen_colour_by(Config(), State(colour_by="rank")) == "rank"
    assert chosen_colour_by(Config(), State()) == "fitted"


def test_a_write_that_fails_leaves_the_old_file_and_no_rubbish(tmp_path: Path) -> None:
    blocked = tmp_path / "folder"
    blocked.mkdir()
    (blocked / "inside").write_text("kept")
    with pytest.raises(StorageError) as caught:
        write_atomically(blocked, b"new")
    assert caught.value.path == str(blocked)
    assert [path.name for path in tmp_path.iterdir() if path.name != "home"] == ["folder"]
    assert (blocked / "inside").read_text() == "kept"


def test_a_write_deletes_what_a_killed_process_left_long_ago(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    stale, fresh, other = (
        tmp_path / f".{name}.part" for name in ("config.toml.a1", "config.toml.b2", "kept.toml.a1")
    )
    for part in (stale, fresh, other):
        part.write_text("half")
    for part in (stale, other):
        os.utime(part, (0, 0))
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert (stale.exists(), fresh.exists(), other.exists()) == (False, True, True)


def test_a_rewritten_file_keeps_its_permissions_and_a_link_stays_one(tmp_path: Path) -> None:
    real = tmp_path / "real.toml"
    real.write_text("old")
    real.chmod(0o640)
    link = tmp_path / "link.toml"
    link.symlink_to(real)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert real.stat().st_mode & 0o777 == 0o640


def test_thresholds_are_the_persons_else_those_last_picked() -> None:
    assert chosen_thresholds(Config(surprising=0.2), State(surprising=0.3, low_coverage=0.4)) == (0.2, 0.4)
    assert chosen_thresholds(Config(), State()) == (0.1, 0.5)
