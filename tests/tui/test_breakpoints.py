"""A screen has the layout of its terminal from the first paint on."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.screen import Screen
from textual.widgets import Static

from workbench.tui.breakpoints import begin_at_size


class Wide(Screen[None]):
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-medium"), (160, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (40, "-tall")]  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.first: frozenset[str] = frozenset()

    def compose(self) -> ComposeResult:
        begin_at_size(self, self.app.size)
        self.first = frozenset(self.classes)
        yield Static()


class Sized(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.wide = Wide()

    def get_default_screen(self) -> Screen[None]:
        return self.wide


@pytest.mark.parametrize(
    ("size", "classes"),
    [
        ((80, 24), {"-narrow", "-low"}),
        ((100, 39), {"-medium", "-low"}),
        ((120, 40), {"-medium", "-tall"}),
        ((200, 50), {"-wide", "-tall"}),
    ],
)
async def test_the_first_layout_is_the_one_that_stays(size: tuple[int, int], classes: set[str]) -> None:
    app = Sized()
    async with app.run_test(size=size) as pilot:
        assert app.wide.first >= classes
        await pilot.pause()
        assert {name for name in app.wide.classes if name.startswith("-")} >= classes
        assert not ({"-narrow", "-medium", "-wide", "-low", "-tall"} - classes) & app.wide.classes
