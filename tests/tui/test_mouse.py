"""What the mouse selects is text that is on the screen, and dragging it chooses nothing."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from itertools import chain

from textual.geometry import Offset
from textual.pilot import Pilot
from textual.widget import Widget

import workbench.tui
from tests.client.loopback import answering
from tests.tui.scripted import answer, until
from tests.tui.scripted import workbench as opened
from workbench.tui.app import WorkbenchApp
from workbench.tui.endpoints.screen import EndpointsScreen
from workbench.tui.popups.popup import RowList
from workbench.tui.terminal import TerminalParser


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


async def drag(app: WorkbenchApp, pilot: Pilot[int], start: Offset, end: Offset) -> None:
    """Press the mouse button, move and let go, in the sequences of a terminal."""
    parser = TerminalParser()
    for button, at, final in ((0, start, "M"), (32, end, "M"), (0, end, "m")):
        for message in parser.feed(f"\x1b[<{button};{at.x + 1};{at.y + 1}{final}"):
            app.post_message(message)
        await pilot.pause()


async def test_dragging_the_mouse_across_rows_chooses_none_of_them() -> None:
    async with opened(answering(answer(" in"))) as (app, pilot, _):
        await pilot.press("ctrl+t")
        await until(pilot, lambda: isinstance(app.screen, EndpointsScreen))
        screen, endpoint = app.screen, app.workspace.drafting.endpoint
        row = screen.query_one(RowList).content_region.offset + Offset(2, 1)
        await drag(app, pilot, row, row + Offset(6, 2))
        assert (app.screen, app.workspace.drafting.endpoint) == (screen, endpoint)
        await drag(app, pilot, row, row + Offset(6, 0))
        await until(pilot, lambda: app.screen is app.main)
        assert app.workspace.drafting.endpoint.name != endpoint.name
