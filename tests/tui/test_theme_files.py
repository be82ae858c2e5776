"""A person's theme file while the application runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.tui.scripted import until
from workbench.storage.files import Folders
from workbench.tui.app import WorkbenchApp
from workbench.workspace.services import Services

MINE = 'primary = "#334455"\nbackground = "{background}"\nforeground = "#eeeeee"\n'


@pytest.fixture
def theme_file(monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    folder = Folders.default(os.environ).config
    (folder / "themes").mkdir(parents=True)
    (folder / "config.toml").write_text('theme = "mine"\n')
    return folder / "themes" / "mine.toml"


def save(path: Path, background: str) -> None:
    path.write_text(MINE.format(background=background))


async def test_a_theme_shows_as_it_is_saved(theme_file: Path) -> None:
    save(theme_file, "#101010")
    app = WorkbenchApp(Services.open(os.environ))
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.main.background_colors[1].hex == "#101010")
        save(theme_file, "#202020")
        await until(pilot, lambda: app.main.background_colors[1].hex == "#202020")


async def test_a_theme_broken_while_it_is_shown_is_told_and_the_application_goes_on(
    theme_file: Path,
) -> None:
    save(theme_file, "#101010")
    app = WorkbenchApp(Services.open(os.environ))
    async with app.run_test() as pilot:
        save(theme_file, "[/x]")
        await until(
            pilot, lambda: any("mine.toml, line 2" in str(problem) for problem in app.themes.problems)
        )
        await pilot.pause()
        assert app.is_running
        assert app.theme == "mine"
