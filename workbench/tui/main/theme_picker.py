"""Choosing a theme, which is shown while it is highlighted."""

from __future__ import annotations

from textual.theme import BUILTIN_THEMES

from workbench.tui.flows import FlowContext
from workbench.tui.popups.picker import Item, Picker


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
