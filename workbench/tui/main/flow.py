"""Flows of the main screen: help, palette, jump, theme, thresholds, configuration, undo."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from math import exp, log
from pathlib import Path

from textual.theme import BUILTIN_THEMES

from workbench.domain.display import one_line
from workbench.domain.errors import BadValueError
from workbench.storage.config import config_file, load_config
from workbench.storage.files import read_text, write_atomically
from workbench.storage.presets import load_presets
from workbench.tui.commands.command import SHARED, Command, Where
from workbench.tui.commands.keymap import CommandTable
from workbench.tui.commands.table import BY_ID, commands_at
from workbench.tui.editor.external_editor import edited_text, with_editor
from workbench.tui.flows import FlowContext
from workbench.tui.main.palette import ItemKind, palette
from workbench.tui.popups.jump import Jump
from workbench.tui.popups.picker import Item, Picker, Popup
from workbench.tui.popups.question import Form, FormLine
from workbench.tui.popups.result_screen import ResultScreen
from workbench.tui.sessions.flow import open_session

_MOST_BYTES = 1 << 20
"""The largest configuration file, in bytes, that is edited."""


async def show_help(flow: FlowContext) -> None:
    """Show the keys of the focused pane or of the screen on top, and run the chosen command."""
    screen = flow.app.screen
    where = screen.where if isinstance(screen, ResultScreen | Popup) else flow.app.main.where
    id = await flow.ask(help_screen(where, flow.commands))
    if id is None:
        return
    command = BY_ID[id]
    if screen is flow.app.main and not command.needs_pane:
        flow.app.main.do(id)
    elif command.where is where and not command.is_fixed and len(command.keys) == 1:
        await flow.app.run_action(command.first_action, screen)


async def show_palette(flow: FlowContext) -> None:
    """Show the command palette, and run what is chosen."""
    chosen = await flow.ask(palette(flow.commands, flow.services))
    if chosen is None:
        return
    kind, _, name = chosen.partition(":")
    match kind:
        case ItemKind.FIELD:
            flow.app.main.open_drawer("parameters")
            flow.app.main.go_to(name)
        case ItemKind.SETTING:
            field, _, text = name.partition(" ")
            flow.app.main.parameters.set_text(field, text)
        case ItemKind.PRESET:
            flow.workspace.drafting.apply_preset(load_presets(flow.services.folders).presets[name])
        case ItemKind.SESSION:
            await open_session(flow, Path(name))
        case _:
            flow.app.main.do(chosen)


async def open_config(flow: FlowContext) -> None:
    """Edit the configuration in the user's editor; changes take effect at the next start."""
    path = config_file(flow.services.folders)
    text = await asyncio.to_thread(_text_of, path)
    services = flow.services
    environment = with_editor(services.environment, services.config.editor)
    async with edited_text(flow.app, text, environment, path.name) as edited:
        if edited == text:
            return
        await asyncio.to_thread(write_atomically, path, edited.encode())
    problems = load_config(flow.services.folders).problems
    for problem in problems:
        flow.warn(str(problem), path.name)
    if not problems:
        flow.app.notify(f"Saved {one_line(str(path), 80)}; it takes effect at the next start.")


def _text_of(path: Path) -> str:
    return read_text(path, _MOST_BYTES) if path.exists() else ""


async def jump(flow: FlowContext) -> None:
    """Show a letter on every pane and field, and focus the one whose letter is typed."""
    target = await flow.ask(Jump(flow.app.main.jump_targets))
    if target is not None:
        flow.app.main.go_to(target)


async def choose_theme(flow: FlowContext) -> None:
    """Choose a theme, with a preview; Esc restores the previous one."""
    app, before = flow.app, flow.app.theme
    names = sorted(app.available_themes, key=lambda name: (name in BUILTIN_THEMES, name.casefold()))
    items = [Item(name, name, "" if app.available_themes[name].dark else "light") for name in names]
    chosen = None
    try:
        chosen = await flow.ask(
            ThemePicker("Theme", items, chosen=before, note="Enter choose · Esc cancel", aside=True)
        )
    finally:
        app.theme = chosen or before
    if chosen is not None:
        app.remember_theme(chosen)


class ThemePicker(Picker):
    """A picker that previews the highlighted theme."""

    def preview(self, item: Item) -> None:
        """Use the highlighted theme."""
        super().preview(item)
        self.app.theme = item.value


async def surprise_threshold(flow: FlowContext) -> None:
    """Set the probability below which a token is surprising."""
    thresholds, title = flow.app.thresholds, "[ and ] go to tokens less likely than"
    if (probability := await _ask_probability(flow, title, exp(-thresholds.surprising))) is not None:
        flow.app.use_thresholds(thresholds._replace(surprising=-log(probability)))


async def coverage_threshold(flow: FlowContext) -> None:
    """Set the top-k mass below which the coverage of a token is low."""
    thresholds, title = flow.app.thresholds, "< and > go to tokens whose alternatives cover less than"
    if (probability := await _ask_probability(flow, title, thresholds.low_coverage)) is not None:
        flow.app.use_thresholds(thresholds._replace(low_coverage=probability))


async def _ask_probability(flow: FlowContext, title: str, now: float) -> float | None:
    """Ask for a probability, as `10%`, `0.1` or a surprisal such as `2.3 nats`."""
    return await flow.ask(Form(title, [FormLine("Probability", f"{now * 100:g}%")], _read_probability))


def _read_probability(typed: Sequence[str]) -> float:
    if (probability := read_probability(typed[0])) is None:
        raise BadValueError(
            f"{one_line(typed[0], 40) or 'Nothing'} is not a probability between 0 and 1.",
            hint="Type 10%, 0.1 or 2.3 nats.",
        )
    return probability


async def undo(flow: FlowContext) -> None:
    """Undo the last change in any pane."""
    flow.workspace.undo()


async def redo(flow: FlowContext) -> None:
    """Redo the change undone last."""
    flow.workspace.redo()


async def copy_error(flow: FlowContext) -> None:
    """Copy the full error message."""
    if text := flow.app.main.output.error.text:
        flow.app.copy_to_clipboard(text)
    else:
        flow.app.notify("No error to copy.", timeout=2)


def read_probability(text: str) -> float | None:
    """Return the probability that a text stands for; None unless it is between 0 and 1."""
    typed = text.strip().lower()
    number = typed.removesuffix("%").removesuffix("nats").removesuffix("nat").strip()
    try:
        value = float(number)
    except ValueError:
        return None
    if typed.endswith("%"):
        value /= 100
    elif typed.endswith(("nat", "nats")):
        value = exp(-value) if value > 0 else 0.0
    return value if 0 < value < 1 else None


_COMMON = (Where.ANYWHERE, Where.EVERYWHERE)


def help_screen(where: Where, commands: CommandTable) -> Picker:
    """Return a picker of the commands of a pane or screen, then of all others."""
    here = commands_at(where, commands) if where is not Where.ANYWHERE else ()
    common = (command for command in commands if command.where in _COMMON)
    ordered = dict.fromkeys((*here, *common, *sorted(commands, key=lambda command: command.where)))
    items = [
        Item(command.id, command.title, command.help, command.key_label, _heading(command, where))
        for command in ordered
    ]
    return Picker(f"Help · {where}", items, note="type to filter · Enter run · Esc close", wraps=True)


def _heading(command: Command, here: Where) -> str:
    if command.where in (here, *SHARED.get(here, ())):
        return here
    return Where.ANYWHERE if command.where in _COMMON else command.where
