"""A person's theme file while the application runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual.color import Color
from textual.widget import Widget

from tests.client.loopback import DONE, answering
from tests.tui.scripted import logprob_event, until, workbench
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


async def test_saved_levels_recolour_the_tokens_and_their_legend(theme_file: Path) -> None:
    def save_levels(last: str) -> None:
        levels = ["#101010", "#201010", "#301010", "#401010", last]
        theme_file.write_text(f"{MINE.format(background='#101010')}[tokens]\nlevels = {levels}\n")

    def is_drawn(app: WorkbenchApp, ground: str, widget: Widget) -> bool:
        strips = app.screen._compositor.render_strips(app.screen.size)
        rows = strips[widget.region.y : widget.region.bottom]
        segments = (segment for strip in rows for segment in strip.crop(*widget.region.column_span))
        return any(style and style.bgcolor == Color.parse(ground).rich_color for _, style, _ in segments)

    save_levels("#501010")
    handler = answering(logprob_event(" in", -9.0, "stop") + DONE)
    async with workbench(handler) as (app, pilot, _):
        await pilot.press("ctrl+j")
        shown = app.main.output.view, app.main.legend
        await until(pilot, lambda: all(is_drawn(app, "#501010", widget) for widget in shown))
        save_levels("#105010")
        await until(pilot, lambda: app.token_styles.levels[-1].bgcolor == Color.parse("#105010").rich_color)
        assert all(is_drawn(app, "#105010", widget) for widget in shown)


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
