"""Choose the endpoint and the model that requests are sent to."""

from __future__ import annotations

from functools import partial

from workbench.domain.display import plural
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import WorkbenchError
from workbench.tui.endpoints.screen import EndpointsScreen
from workbench.tui.flows import FlowContext
from workbench.tui.popups.picker import Item, Late, Picker
from workbench.workspace.services import Services

_OWN = "\0own"
"""The list's value for the endpoint's default model; no model name contains this character."""


async def choose_endpoint(flow: FlowContext) -> None:
    """Choose, set up or type the URL of the endpoint that requests are sent to."""
    drafting = flow.workspace.drafting
    screen = EndpointsScreen(
        flow.services, drafting.endpoint, drafting.model, previous=drafting.previous_endpoint
    )
    if (endpoint := await flow.ask(screen)) is not None:
        if endpoint.name != drafting.endpoint.name:
            drafting.previous_endpoint = drafting.endpoint
        drafting.use_endpoint(endpoint)


async def choose_model(flow: FlowContext) -> None:
    """Choose a model from the endpoint's list, or type its name."""
    endpoint, current = flow.workspace.drafting.endpoint, flow.workspace.drafting.model
    known = dict.fromkeys(name for name in (current, endpoint.model) if name)
    name = await flow.ask(_model_picker(flow, endpoint, [Item(name, name) for name in known], current))
    if name is not None:
        flow.workspace.drafting.use_model(name)


async def ask_target(flow: FlowContext) -> tuple[Endpoint, str] | None:
    """Ask for an endpoint and one of its models; return None if cancelled."""
    current = flow.workspace.drafting.endpoint
    endpoint = await flow.ask(EndpointsScreen(flow.services, current, current.model))
    if endpoint is None:
        return None
    name = await flow.ask(_model_picker(flow, endpoint, [Item(_OWN, "its default model", endpoint.model)]))
    return None if name is None else (endpoint, endpoint.model if name == _OWN else name)


def _model_picker(flow: FlowContext, endpoint: Endpoint, items: list[Item], current: str = "") -> Picker:
    return Picker(
        f"Model @ {endpoint.name}",
        items,
        chosen=current,
        free_text=True,
        note="asking the endpoint…",
        more=partial(_list_models, flow.services, endpoint),
    )


async def _list_models(services: Services, endpoint: Endpoint) -> Late:
    try:
        is_ready = services.connections.is_ready(endpoint)
        names = await services.connections.models(endpoint)
    except WorkbenchError as problem:
        return Late([], f"no list: {problem.title}")
    note = plural(len(names), "model") if is_ready else "the first run starts it"
    return Late([Item(name, name) for name in names], f"{note} · Enter choose · Esc close")
