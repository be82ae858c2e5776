"""The About dialog: the program's version, and where its files are."""

from __future__ import annotations

from importlib.metadata import version

from workbench.domain.display import one_line
from workbench.tui.flows import FlowContext
from workbench.tui.popups.picker import Item, Picker


async def show_about(flow: FlowContext) -> None:
    """Show the program's version and folders; Enter copies a line."""
    folders = flow.services.folders
    lines = {
        "Completion Workbench": version("completion-workbench"),
        "configuration": str(folders.config),
        "sessions": str(folders.data / "sessions"),
    }
    items = [Item(text, title, one_line(text, 200)) for title, text in lines.items()]
    text = await flow.ask(Picker("About", items, note="Enter copy · Esc close"))
    if text is not None:
        flow.app.copy_to_clipboard(text)
