"""A screen has the layout of its terminal from the first paint on."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator

import pytest
from textual.app import App, ComposeResult
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widgets import Static

import workbench.tui
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


def _classes(base: type[DOMNode]) -> Iterator[type[DOMNode]]:
    for child in base.__subclasses__():
        yield child
        yield from _classes(child)


def test_no_rule_of_a_widget_names_what_lies_outside_it() -> None:
    """Textual matches a widget's rules only within it, so that a class of its screen would never match."""
    for module in pkgutil.walk_packages(workbench.tui.__path__, "workbench.tui."):
        importlib.import_module(module.name)
    ours = [child for child in set(_classes(DOMNode)) if child.__module__.startswith("workbench.")]
    checked = 0
    for child in ours:
        for selectors in re.findall(r"([^{};]+)\{", vars(child).get("DEFAULT_CSS", "")):
            for selector in selectors.split(","):
                assert re.match(rf"\s*(?:{child.__name__}\b|&)", selector), f"{child.__name__}: {selector}"
                checked += 1
    assert checked > 100
