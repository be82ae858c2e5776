"""Choosing where a column of a comparison is sent: its endpoint, and the model there."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import App

from workbench.domain.endpoint import Endpoint
from workbench.tui.screens.choosing import choose_endpoint, list_models
from workbench.tui.screens.popup import Item, Picker
from workbench.tui.services import Services

_OWN = "\0own"
"""Stands for the endpoint's own model among names of models, none of which can hold this character."""


def choose_place(
    app: App[int], services: Services, current: Endpoint, take: Callable[[Endpoint, str], None]
) -> None:
    """Let a person choose an endpoint and a model of it; empty is the endpoint's own."""

    def with_model(endpoint: Endpoint) -> None:
        def chosen(name: str | None) -> None:
            if name is not None:
                take(endpoint, endpoint.model if name == _OWN else name)

        picker = Picker(
            f"Model @ {endpoint.name}",
            [Item(_OWN, "its own model", endpoint.model)],
            free_text=True,
            note="asking the endpoint…",
            on_open=list_models(services, endpoint),
        )
        app.push_screen(picker, chosen)

    choose_endpoint(app, services, current, current.model, with_model)
