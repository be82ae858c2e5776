"""What is drawn can be read: on every screen, in every theme, with every row focused once."""

from __future__ import annotations

import unicodedata
from collections.abc import AsyncGenerator, Iterator

import pytest
from rich.style import Style
from textual.color import Color
from textual.geometry import Region
from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.widgets import OptionList

from tests.client.loopback import DONE, answering
from tests.tui.scripted import logprob_event, until, workbench
from workbench.tui.app import WorkbenchApp
from workbench.tui.grid.screen import GridScreen
from workbench.tui.theme.theme_files import READABLE, contrast

MOST_ROWS = 18
"""Rows of the panel, and enough of a list whose rows are alike."""
THEMES = ("dark", "light", "ink", "lamplight", "deep", "contrast")
ANSWER = b"".join(
    logprob_event(text, logprob, "stop" if text == "." else None)
    for text, logprob in ((" went", -0.05), (" in", -0.3), (" slowly", -1.0), ("\t", -2.0), (".", -6.0))
)
# Keys that lead to a screen from the main screen with two runs, its output focused.
SCREENS = {
    "prompt": ("f2",),
    "parameters": ("f3",),
    "output": ("f4", "home"),
    "find": ("f4", "slash", "i", "n", "enter"),
    "inspector": ("f4", "home", "i"),
    "palette": ("ctrl+p",),
    "help": ("f4", "f1"),
    "jump": ("ctrl+g",),
    "name": ("ctrl+s",),
    "sessions": ("ctrl+o",),
    "endpoints": ("ctrl+t",),
    "endpoint form": ("ctrl+t", "ctrl+n"),
    "presets": ("ctrl+l",),
    "compare picker": ("f8",),
    "compare": ("f8", "enter"),
    "compare saved": ("f4", "home", "v"),
    "tree": ("f4", "home", "t"),
    "replay": ("f4", "home", "p"),
    "re-run": ("f4", "home", "r"),
    "wire": ("f4", "home", "e"),
    "chat": ("f12",),
    "chat turns": ("f12", "H", "i", "ctrl+j", "f4", "left"),
    "sweep form": ("ctrl+p", *"sweep", "enter"),
    "grid": ("ctrl+p", *"sweep", "enter", "enter", "y"),
}


@pytest.fixture(autouse=True)
def _every_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 16 million colours, as the application reads it from the process."""
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TERM", "xterm-256color")


def drawn_text(app: WorkbenchApp) -> Iterator[tuple[int, str, Style]]:
    """Every text on the screen with its row and its style, frames and bars left out.

    Below a popup the screen is dimmed, as nothing there can be worked with.
    """
    screen = app.screen
    region = (
        Region.from_union([child.region for child in screen.children])
        if isinstance(screen, ModalScreen)
        else screen.region
    )
    for row, strip in enumerate(screen._compositor.render_strips(screen.size)):
        if not region.y <= row < region.bottom:
            continue
        for text, style, _ in strip.crop(region.x, region.right):
            plain = "".join(character for character in text if not _is_drawing(character)).strip()
            if plain:
                yield row, plain, style or Style()


def _is_drawing(character: str) -> bool:
    return "\u2500" <= character <= "\u259f" or unicodedata.category(character) == "Zs"


def unreadable(app: WorkbenchApp) -> list[str]:
    """What is drawn with too little contrast, each with its row and colours."""
    found = []
    for row, text, style in drawn_text(app):
        assert style.color is not None and style.bgcolor is not None, f"row {row}: {text!r} has no colours"
        text_colour, below = (Color.from_rich_color(colour) for colour in (style.color, style.bgcolor))
        if style.reverse:
            text_colour, below = below, text_colour
        ratio = contrast(text_colour, below)
        if ratio < READABLE or style.dim:
            found.append(f"row {row}: {text!r} {text_colour.hex} on {below.hex} is {ratio:.2f}:1")
    return found


async def walk_rows(app: WorkbenchApp, pilot: Pilot[int]) -> AsyncGenerator[str]:
    """Each row of a list or panel focused once; a screen without any is looked at as it is."""
    await pilot.pause()
    yield "as it opens"
    lists = app.screen.query(OptionList)
    is_panel = app.screen is app.main and app.main.parameters.has_focus
    for row in range(min(lists.first().option_count, MOST_ROWS) if lists else MOST_ROWS if is_panel else 0):
        await pilot.press("down")
        await pilot.pause()
        yield f"row {row + 1}"


@pytest.mark.parametrize("name", SCREENS)
async def test_all_text_can_be_read_in_every_theme_with_every_row_focused_once(name: str) -> None:
    async with workbench(answering(ANSWER + DONE)) as (app, pilot, _):
        for number in (1, 2):
            await pilot.press("ctrl+j")
            await until(pilot, lambda number=number: len(app.main.output.runs) == number)  # type: ignore[misc]
            await until(pilot, lambda: not app.workspace.runs.is_streaming)
        for key in SCREENS[name]:
            await pilot.press(key)
            await pilot.pause()
        await until(pilot, lambda: not app.workspace.runs.is_streaming)
        assert (name == "grid") is isinstance(app.screen, GridScreen)
        found = []
        for theme in THEMES:
            app.theme = theme
            async for where in walk_rows(app, pilot):
                assert sum(1 for _ in drawn_text(app)) >= 2
                found += [f"{theme}, {where}, {text}" for text in unreadable(app)]
        assert found == []
        while app.screen is not app.main:
            await pilot.press("escape")
            await pilot.pause()


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
@pytest.mark.parametrize("name", ["palette", "help", "compare picker", "presets", "sessions", "endpoints"])
async def test_the_row_under_the_cursor_is_seen(name: str, size: tuple[int, int]) -> None:
    async with workbench(answering(ANSWER + DONE), size) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and not app.workspace.runs.is_streaming)
        await until(pilot, lambda: not app.main.header.unsaved)
        for key in SCREENS[name]:
            await pilot.press(key)
            await pilot.pause()
        rows = app.screen.query_one(OptionList)
        await until(pilot, lambda: rows.highlighted is not None)
        for keys in (["down"] * 36, ["pagedown"], ["pagedown"], ["pagedown"], ["up"] * 3):
            await pilot.press(*keys)
            await pilot.pause()
            option = rows.highlighted_option
            assert option is not None
            title = str(option.prompt).strip("✓· ").split("  ")[0]
            visible = rows.region.intersection(app.screen.region)
            strips = app.screen._compositor.render_strips(app.screen.size)[visible.y : visible.bottom]
            assert any(title in strip.crop(visible.x, visible.right).text for strip in strips), title
