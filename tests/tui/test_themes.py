"""Themes: what loads, what is refused and why, and what a saved file changes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.color import Color
from textual.theme import BUILTIN_THEMES
from textual.widgets import Input, Label

from workbench.tui.theme import theme_files as module
from workbench.tui.theme.theme_files import adopt, load_themes, read_theme, shipped_folder, theme_stamp

PLAIN = 'primary = "#334455"\nbackground = "#101010"\nforeground = "#eeeeee"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "themes"
    folder.mkdir()
    return folder


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_shipped_themes_all_load(folder: Path) -> None:
    loaded = load_themes(folder)
    assert loaded.problems == []
    assert {"dark", "light", "contrast", "lamplight", "ink", "deep", "sixteen"} <= set(loaded.themes)
    assert {theme.theme.dark for theme in loaded.themes.values()} == {True, False}


def test_a_theme_that_names_no_frame_gets_one_that_can_be_seen(folder: Path) -> None:
    theme = read_theme(write(folder, "plain", PLAIN)).theme
    assert Color.parse(theme.variables["border-blurred"]).brightness > 0.25


def test_a_missing_folder_of_ones_own_is_no_problem(tmp_path: Path) -> None:
    loaded = load_themes(tmp_path / "nowhere")
    assert loaded.problems == []
    assert "dark" in loaded.themes


def test_an_installed_package_carries_its_themes_inside(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, "inside", PLAIN)
    assert shipped_folder().name == "themes"
    monkeypatch.setattr(module, "_PACKAGED", folder)
    assert shipped_folder() == folder
    assert "inside" in load_themes(folder / "nowhere").themes


def test_a_persons_theme_is_added_and_one_of_the_same_name_replaces(folder: Path) -> None:
    write(folder, "mine", PLAIN)
    write(folder, "dark", PLAIN)
    themes = load_themes(folder).themes
    assert themes["mine"].background == Color.parse("#101010")
    assert themes["dark"].theme.primary == "#334455"


def test_a_broken_theme_is_named_with_file_line_and_reason_and_the_others_load(folder: Path) -> None:
    path = write(folder, "dark", PLAIN + 'accent = "blurple"\n')
    write(folder, "mine", PLAIN)
    loaded = load_themes(folder)
    (problem,) = loaded.problems
    assert (problem.path, problem.line) == (str(path), 4)
    assert "blurple" in problem.title
    assert "mine" in loaded.themes
    assert loaded.themes["dark"].theme.primary != "#334455"


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ('primary = "#fff"\nbackground = "#000"\n', None, "foreground is missing"),
        (PLAIN + 'accent = "#12345"\n', 4, "not a colour"),
        (PLAIN + 'acent = "#123456"\n', 4, "not a known key"),
        (PLAIN + 'accent = "ansi_red"\n', 4, "terminal's own"),
        (PLAIN + 'accent = "#11223344"\n', 4, "opaque"),
        (PLAIN + "dark = 1\n", 4, "true or false"),
        (PLAIN + '[variables]\nborder = "[/x]"\n', 5, "not a colour"),
        (PLAIN + '[variables]\nlink-style = "loud"\n', 5, "not a style"),
        (PLAIN + '[tokens]\nhue = "warm"\n', 5, "not a colour"),
        (PLAIN + '[tokens]\nlevels = ["#000", "#111", "#222"]\n', 5, "5 colours"),
        (PLAIN + '[tokens]\nlevels = ["#000", "#111", "#222", "#333", "x"]\n', 5, "not a colour"),
        (PLAIN + '[tokens]\nlevels = ["#000", "#111", "#222", "#333", "#333"]\n', 5, "different"),
        (PLAIN + "primary = 3\n", 4, "TOML"),
        ("primary = [\n", None, "TOML"),
    ],
)
def test_what_is_wrong_is_told_before_the_screen_sees_it(
    folder: Path, text: str, line: int | None, expected: str
) -> None:
    write(folder, "bad", text)
    loaded = load_themes(folder)
    (problem,) = loaded.problems
    assert expected in problem.title
    assert "bad.toml" in problem.title
    assert line is None or problem.line == line
    assert "bad" not in loaded.themes


def test_a_hostile_colour_is_told_without_control_characters(folder: Path) -> None:
    write(folder, "bad", PLAIN + 'accent = "\\u001b[31m"\n')
    (problem,) = load_themes(folder).problems
    assert "\x1b" not in str(problem)
    assert "\\e[31m" in str(problem)


def test_a_theme_may_set_its_own_levels_and_variables(folder: Path) -> None:
    levels = ["#101010", "#303030", "#505050", "#707070", "#909090"]
    listed = ", ".join(f'"{level}"' for level in levels)
    path = write(
        folder,
        "mine",
        f'{PLAIN}[tokens]\nlevels = [{listed}]\n[variables]\nborder = "red"\nlink-style = "bold underline"\n',
    )
    theme = read_theme(path)
    assert theme.levels == tuple(map(Color.parse, levels))
    assert theme.theme.variables.items() >= {"border": "red", "link-style": "bold underline"}.items()


def test_the_stamp_changes_with_every_save_and_only_then(folder: Path) -> None:
    before = theme_stamp(folder)
    assert theme_stamp(folder) == before
    path = write(folder, "mine", PLAIN)
    added = theme_stamp(folder)
    assert added != before
    found = path.stat()
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns + 1_000_000))
    assert theme_stamp(folder) != added
    path.unlink()
    assert theme_stamp(folder) == before


def test_textuals_own_themes_can_be_used_too() -> None:
    for theme in BUILTIN_THEMES.values():
        adopted = adopt(theme)
        assert adopted.name == theme.name
        assert adopted.background is not None


class Small(App[None]):
    def compose(self) -> ComposeResult:
        yield Label("words", markup=False)
        yield Input("typed")


async def test_every_shipped_theme_and_the_plainest_of_ones_own_can_be_shown(folder: Path) -> None:
    write(folder, "mine", PLAIN)
    write(
        folder,
        "own-ansi",
        'ansi = true\nprimary = "ansi_red"\nbackground = "ansi_default"\nforeground = "ansi_default"\n',
    )
    themes = load_themes(folder).themes
    app = Small()
    async with app.run_test() as pilot:
        for theme in themes.values():
            app.register_theme(theme.theme)
            app.theme = theme.name
            await pilot.pause()
            assert app.current_theme.name == theme.name
            assert app.export_screenshot()
