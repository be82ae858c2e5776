"""Draws the README's pictures of the application on the embedded model: `python -m tests.pictures [NAME …]`.

Each scene is played through keys alone, as a person would, and waits for words on the screen.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from textual.pilot import Pilot

from workbench.tui.app import WorkbenchApp
from workbench.workspace.services import Services

FOLDER = Path(__file__).resolve().parents[1] / ".pictures"
STILL = 1.5
"""Seconds without a change after which a screen is taken to be finished."""
PATIENCE = 120.0
"""Seconds after which words are taken never to come, on however busy a machine."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """The application, played through keys and read as words."""

    app: WorkbenchApp
    pilot: Pilot[int]

    @property
    def words(self) -> str:
        """All that the screen shows."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)

    async def press(self, *keys: str) -> None:
        """Press keys, each once the one before has done its work."""
        for key in keys:
            await self.pilot.press(key)
            await self.pilot.pause(0.05)

    async def command(self, text: str) -> None:
        """Choose what the palette offers first for a text."""
        await self.press("ctrl+p", *text)
        await self.pilot.pause(0.5)
        await self.press("enter")
        await self.pilot.pause(0.3)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds. Raises TimeoutError."""
        deadline = monotonic() + PATIENCE
        while not condition():
            if monotonic() > deadline:
                raise TimeoutError(f"it never came true:\n{self.words}")
            await self.pilot.pause(0.05)

    async def shows(self, words: str, times: int = 1) -> None:
        """Wait until the screen shows words so many times. Raises TimeoutError."""
        await self.until(lambda: self.words.count(words) >= times)

    async def still(self) -> None:
        """Wait until nothing changes any more."""
        before, since = self.words, monotonic()
        while monotonic() - since < STILL:
            await self.pilot.pause(0.1)
            if self.words != before:
                before, since = self.words, monotonic()

    async def run(self) -> None:
        """Send the prompt and wait for the end of the answer."""
        await self.press("ctrl+j")
        await self.shows("done")
        await self.still()


async def hero(terminal: Terminal) -> None:
    """A finished answer, and a surprising token with its alternatives."""
    await terminal.command("temperature 0.8")
    await terminal.command("seed 4")
    await terminal.command("max_tokens 240")
    await terminal.run()
    await terminal.press("f4", "home", *["]"] * 9)


async def inspect(terminal: Terminal) -> None:
    """A token looked at while the answer still streams."""
    await terminal.command("temperature 0.9")
    await terminal.command("seed 11")
    await terminal.command("max_tokens 400")
    await terminal.press("ctrl+j")
    await terminal.until(
        lambda: any(int(count) >= 50 for count in re.findall(r"(\d+) tok\b", terminal.words))
    )
    await terminal.press("f4", "home", "]", "]")


async def branch(terminal: Terminal) -> None:
    """A branch from a surprising token, with the most likely one in its place."""
    await terminal.command("temperature 0.8")
    await terminal.command("seed 4")
    await terminal.command("max_tokens 48")
    await terminal.run()
    await terminal.press("f4", "home", *["]"] * 2, "1")
    await terminal.shows("done", 2)


async def compare(terminal: Terminal) -> None:
    """Two presets side by side, where they diverge."""
    await terminal.command("max_tokens 48")
    await terminal.command("seed 4")
    await terminal.press("f8")
    await terminal.still()
    # Of what is chosen the current settings go, and precise comes beside greedy.
    await terminal.press("space", "down", "down", "space", "enter")
    await terminal.shows("● done", 2)
    await terminal.still()
    await terminal.press("d")


async def sweep(terminal: Terminal) -> None:
    """Two parameters varied in a grid."""
    await terminal.command("max_tokens 24")
    await terminal.command("seed 4")
    await terminal.command("sweep")
    await terminal.press(*["backspace"] * 40, *"temperature=0:1.2:0.3", "tab", *"top_p=0.5,0.9,1", "enter")
    await terminal.shows("15 requests")
    await terminal.press("y")
    await terminal.shows("15 of 15")
    await terminal.press("down", "down", "right")


async def chat(terminal: Terminal) -> None:
    """A conversation beside its exact prompt."""
    await terminal.command("temperature 0.3")
    await terminal.command("max_tokens 48")
    await terminal.command("seed 3")
    await terminal.press("f12")
    await terminal.still()
    await terminal.press(*"What is a lighthouse for?", "ctrl+j")
    await terminal.shows("● done")
    await terminal.press("ctrl+e", *"And who keeps it?", "f4", "]")


async def replay(terminal: Terminal) -> None:
    """A recorded answer played again."""
    await terminal.command("seed 7")
    await terminal.run()
    await terminal.press("f4", "p")
    await terminal.pilot.pause(1.5)
    await terminal.press("space")


SCENES: Mapping[str, tuple[tuple[int, int], Callable[[Terminal], Awaitable[None]]]] = {
    "hero": ((116, 30), hero),
    "inspect": ((100, 28), inspect),
    "branch": ((100, 28), branch),
    "compare": ((100, 26), compare),
    "sweep": ((100, 28), sweep),
    "chat": ((100, 28), chat),
    "replay": ((80, 18), replay),
}
"""Each scene by the name of its picture, with the size of its terminal."""


async def draw(name: str) -> None:
    """Play a scene on a fresh start and write what the screen shows then."""
    size, play = SCENES[name]
    with tempfile.TemporaryDirectory() as home:
        # The terminal's colours are read from the process itself.
        os.environ.update(WORKBENCH_HOME=home, COLORTERM="truecolor", TERM="xterm-256color")
        app = WorkbenchApp(Services.open(os.environ))
        async with app.run_test(size=size) as pilot:
            terminal = Terminal(app, pilot)
            await terminal.still()
            await play(terminal)
            if name != "inspect":
                await terminal.still()
            # Without this a browser joins the blanks between words that stand in columns.
            picture = app.export_screenshot().replace("<svg ", '<svg xml:space="preserve" ', 1)
            (FOLDER / f"{name}.svg").write_text(picture, encoding="utf-8")
            await app.leave()


async def main(names: list[str]) -> None:
    """Draw the named pictures, or all."""
    for name in names or SCENES:
        print(name, file=sys.stderr)
        await draw(name)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
