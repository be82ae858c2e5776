"""Choosing an endpoint, a model, a theme or a kind of prompt from a list."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from textual.app import App
from textual.theme import BUILTIN_THEMES

from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import WorkbenchError
from workbench.domain.prompt import PromptKind
from workbench.tui.screens.popup import Item, Picker
from workbench.tui.services import Services

_KINDS = {
    PromptKind.TEXT: "one text, exactly as typed",
    PromptKind.TEXTS: "several texts, divided by a line ---",
    PromptKind.TOKENS: "one text as token ids: 1, 2, 3",
    PromptKind.TOKEN_LISTS: "several texts as token ids, one a line",
}


def choose_endpoint(
    app: App[int], services: Services, current: Endpoint, model: str, take: Callable[[Endpoint], None]
) -> None:
    """Let a person choose an endpoint, set one up, or type a base URL."""
    # Most starts stay with the endpoint they have, so the first paint need not wait for it.
    from workbench.tui.screens.endpoints import EndpointsScreen

    def chosen(endpoint: Endpoint | None) -> None:
        if endpoint is not None:
            take(endpoint)

    app.push_screen(EndpointsScreen(services, current, model), chosen)


def list_models(services: Services, endpoint: Endpoint) -> Callable[[Picker], Awaitable[None]]:
    """What adds an endpoint's models to an open list."""

    async def ask(picker: Picker) -> None:
        try:
            runs = services.connections.is_ready(endpoint)
            names = await services.connections.models(endpoint)
        except WorkbenchError as problem:
            picker.add_items([], f"no list: {problem.title}")
            return
        note = f"{len(names)} models" if runs else "the first run starts it"
        picker.add_items([Item(name, name) for name in names], f"{note} · Enter · Esc")

    return ask


def choose_model(
    app: App[int], services: Services, endpoint: Endpoint, current: str, take: Callable[[str], None]
) -> None:
    """Let a person choose a model from the endpoint's list, or type any name."""
    known = dict.fromkeys(name for name in (current, endpoint.model) if name)

    def chosen(name: str | None) -> None:
        if name is not None:
            take(name)

    picker = Picker(
        f"Model @ {endpoint.name}",
        [Item(name, name) for name in known],
        chosen=current,
        free_text=True,
        note="asking the endpoint…",
        on_open=list_models(services, endpoint),
    )
    app.push_screen(picker, chosen)


def choose_kind(app: App[int], current: PromptKind, take: Callable[[PromptKind], None]) -> None:
    """Let a person choose what the prompt is made of."""

    def chosen(name: str | None) -> None:
        if name is not None:
            take(PromptKind(name))

    items = [Item(kind.value, kind.value, words) for kind, words in _KINDS.items()]
    app.push_screen(Picker("Prompt kind", items, chosen=current.value), chosen)


def choose_theme(app: App[int], take: Callable[[str], object]) -> None:
    """Let a person choose a theme, which is shown while it is looked at; Esc brings the old one back."""
    before = app.theme
    names = sorted(app.available_themes, key=lambda name: (name in BUILTIN_THEMES, name.casefold()))

    def look(name: str) -> None:
        app.theme = name

    def chosen(name: str | None) -> None:
        app.theme = name or before
        if name is not None:
            take(name)

    items = [Item(name, name, "" if app.available_themes[name].dark else "light") for name in names]
    app.push_screen(
        Picker("Theme", items, chosen=before, on_look=look, note="Enter · Esc", aside=True), chosen
    )
