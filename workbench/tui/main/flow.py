"""The palette, jumping, the configuration, undo and redo, and copying an error."""

from __future__ import annotations

import asyncio
from pathlib import Path

from workbench.domain.display import one_line
from workbench.storage.config import config_file, load_config
from workbench.storage.files import is_missing, read_text, write_atomically
from workbench.storage.presets import load_presets
from workbench.tui.editor.external_editor import edited_text, with_editor
from workbench.tui.flows import FlowContext
from workbench.tui.main.palette import ItemKind, palette
from workbench.tui.popups.jump import Jump
from workbench.tui.sessions.flow import open_session

_MOST_BYTES = 1 << 20
"""The largest configuration file, in bytes, that is edited."""


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
    return "" if is_missing(path) else read_text(path, _MOST_BYTES)


async def jump(flow: FlowContext) -> None:
    """Show a letter on every pane and field, and focus the one whose letter is typed."""
    target = await flow.ask(Jump(flow.app.main.jump_targets))
    if target is not None:
        flow.app.main.go_to(target)


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
