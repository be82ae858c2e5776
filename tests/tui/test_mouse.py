"""What the mouse selects is text that is on the screen, never the name of a widget."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from itertools import chain

from textual.widget import Widget

import workbench.tui


def widgets(of: type[Widget] = Widget) -> Iterator[type[Widget]]:
    """The widgets that the workbench defines."""
    for module in pkgutil.walk_packages(workbench.tui.__path__, "workbench.tui."):
        import_module(module.name)
    for kind in of.__subclasses__():
        yield from chain([kind] if kind.__module__.startswith("workbench.") else [], widgets(kind))


def test_a_widget_that_draws_its_own_lines_is_not_selected_or_gives_its_own_text() -> None:
    drawn = {
        kind
        for kind in widgets()
        if kind.render is Widget.render and kind.render_line is not Widget.render_line
    }
    assert drawn
    wrong = {kind for kind in drawn if kind.ALLOW_SELECT and kind.get_selection is Widget.get_selection}
    assert not wrong, "Textual would copy their CSS names"
