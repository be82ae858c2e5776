"""The application on terminals with few colours or none: what it sends holds none but the terminal's own."""

from __future__ import annotations

import os

import pytest
from rich.color import ColorType
from rich.segment import Segment
from rich.style import Style
from textual.filter import Monochrome
from textual.widgets import OptionList

from tests.tui.scripted import until
from workbench.tui.app import WorkbenchApp
from workbench.tui.popups.picker import Picker
from workbench.workspace.services import Services


async def colours_sent(app: WorkbenchApp) -> set[ColorType]:
    """The kinds of colours that leave the application for text in every one of its token styles."""
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        assert app.current_theme.ansi
        line = [
            Segment("x", Style(color="red", bgcolor="yellow", bold=True)),
            Segment("y", app.screen.rich_style),
        ]
        for line_filter in app.get_line_filters():
            assert not isinstance(line_filter, Monochrome)
            if line_filter.enabled:
                line = line_filter.apply(line, app.screen.background_colors[1])
        return {
            colour.type
            for segment in line
            if segment.style is not None
            for colour in (segment.style.color, segment.style.bgcolor)
            if colour is not None
        }


async def test_no_color_means_no_colours_and_no_greys_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = WorkbenchApp(Services.open(os.environ))
    assert await colours_sent(app) == {ColorType.DEFAULT}


async def test_sixteen_colours_are_the_terminals_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("COLORTERM", raising=False)
    app = WorkbenchApp(Services.open(os.environ))
    assert await colours_sent(app) <= {ColorType.STANDARD, ColorType.DEFAULT}


async def test_without_colours_shape_tells_what_has_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = WorkbenchApp(Services.open(os.environ))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.main.focused is app.main.prompt)
        await pilot.pause()
        assert app.main.prompt.styles.border_top[0] == "heavy"
        assert app.main.output.styles.border_top[0] == "round"
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, Picker))
        options = app.screen.query_one(OptionList)
        assert options.get_visual_style("option-list--option-highlighted").underline
        assert not options.get_visual_style("option-list--option").underline
        await app.leave()
