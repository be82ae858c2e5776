"""Choose the columns of a comparison or grid: presets, each at its own endpoint or at another one."""

from __future__ import annotations

import random
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from workbench.domain.display import one_line
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.parameters import Parameters
from workbench.domain.preset import Preset
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.runner.compare_plan import Column, adding
from workbench.storage.endpoint_list import endpoint_for
from workbench.storage.presets import load_presets
from workbench.tui.endpoints.flow import ask_target
from workbench.tui.flows import FlowContext
from workbench.tui.popups.multi_picker import MultiPicker, Selection
from workbench.tui.popups.picker import Item
from workbench.tui.presets.preset_picker import changes_of
from workbench.workspace.comparison import LEAST_COLUMNS, MOST_COLUMNS

_SEEDS = "shared seed", "own seeds"
_ELSEWHERE = "\0elsewhere"
"""Prefix of the list's values for presets at another endpoint; no preset name contains this character."""
_PANEL = "\0panel"
"""The list's value for the current settings."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The columns chosen by the person."""

    columns: Sequence[Column]
    own_seeds: bool = False
    """Whether each column has its own seed, instead of a shared one."""


async def choose_columns(
    flow: FlowContext, request: Request, title: str, *, least: int = LEAST_COLUMNS
) -> Chosen | None:
    """Ask for presets for a request, and whether they share a seed; return None if cancelled.

    Raises BadValueError if a column has a value that its endpoint does not allow.
    """
    loaded = load_presets(flow.services.folders)
    for problem in loaded.problems:
        flow.warn(str(problem), "Preset")
    items = [Item(_PANEL, "current settings", "as the panel shows them")]
    items += [
        Item(preset.name, preset.name, changes_of(preset, request.parameters))
        for preset in loaded.presets.values()
    ]
    columns = {item.value: _column(flow, loaded.presets.get(item.value), request) for item in items}
    settings = columns[_PANEL].parameters
    others = [name for name in loaded.presets if columns[name].parameters != settings]
    first = _PANEL, *others[:1]
    selection = Selection(_compared_last(flow.workspace.runs, columns) or first)
    while True:
        picker = MultiPicker(
            title,
            items,
            selection,
            least=least,
            most=MOST_COLUMNS,
            can_vary="other endpoint",
            switch=_SEEDS,
            take="run",
        )
        answer = await flow.ask(picker)
        if answer is None:
            return None
        selection = answer
        if selection.varied is None:
            break
        if (target := await ask_target(flow)) is not None:
            endpoint, model = target
            varied = next(item for item in items if item.value == selection.varied)
            detail = f"{one_line(model, 40) or 'its default model'} @ {one_line(endpoint.name, 40)}"
            item = Item(f"{_ELSEWHERE}{len(items)}", varied.title, detail)
            items.append(item)
            columns[item.value] = replace(columns[varied.value], endpoint=endpoint, model=model)
            selection = selection.with_added(item.value, MOST_COLUMNS)
    taken = [columns[value] for value in selection.values]
    check_columns(taken)
    return Chosen(taken, selection.is_switched)


def _compared_last(runs: Sequence[Run], offered: Container[str]) -> tuple[str, ...]:
    """Return the presets of the session's last comparison that are still offered; none if only one is."""
    group = next((run.group for run in reversed(runs) if run.group), "")
    names = dict.fromkeys(run.preset or _PANEL for run in runs if group and run.group == group)
    values = tuple(name for name in names if name in offered)
    return values if LEAST_COLUMNS <= len(values) <= MOST_COLUMNS else ()


def _column(flow: FlowContext, preset: Preset | None, request: Request) -> Column:
    """Return the column of a preset, or of the current settings."""
    here, model = flow.workspace.drafting.endpoint, request.model
    if preset is None:
        return Column("current settings", here, model, _single(request.parameters))
    name, parameters = preset.name, _single(preset.applied_to(request.parameters))
    if not preset.endpoint or preset.endpoint == here.name:
        return Column(name, here, preset.model or model, parameters, name)
    endpoint = endpoint_for(preset.endpoint, None, flow.services.endpoints)
    return Column(name, endpoint, preset.model or endpoint.model, parameters, name)


def _single(parameters: Parameters) -> Parameters:
    """Request a single answer, as a column shows only one."""
    return parameters.set("n", None).set("best_of", None)


def check_columns(columns: Sequence[Column]) -> None:
    """Raise BadValueError if a column has a value that its endpoint does not allow."""
    for column in columns:
        if not column.endpoint.lenient:
            for problem in column.parameters.problems(column.endpoint.limits):
                raise BadValueError(f"{column.title}: {problem.title}", problem.message, problem.hint)


def with_seeds(chosen: Chosen) -> tuple[Sequence[Column], str, list[Column]]:
    """Return the columns with their seeds, a note on these, and the columns whose own seed was replaced."""
    columns = chosen.columns
    if chosen.own_seeds:
        return [adding(column, "seed", random.getrandbits(31)) for column in columns], "separate seeds", []
    own = [seed for column in columns if isinstance(seed := column.parameters.get("seed"), int)]
    seed = own[0] if own else random.getrandbits(31)
    replaced = [column for column in columns if column.parameters.get("seed") not in (None, seed)]
    shared = [
        column
        if column.parameters.get("seed") == seed
        else replace(column, added={**column.added, "seed": seed})
        for column in columns
    ]
    return shared, f"shared seed {seed}" if own else f"shared seed {seed} (random)", replaced


def endpoint_of(flow: FlowContext, name: str) -> Endpoint:
    """Return the endpoint of a name: the one in use if it has that name, else a profile or URL."""
    here = flow.workspace.drafting.endpoint
    return here if name == here.name else endpoint_for(name, None, flow.services.endpoints)
