"""From the draft to a comparison: choosing presets, one seed for all, and what it may cost."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from textual.app import App

from workbench.domain.display import one_line
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.preset import Preset
from workbench.domain.prompt import single_prompts
from workbench.domain.request import Parameters, Request
from workbench.domain.run import Run
from workbench.runner.comparison import Column, ignored, plan, probes_of, seeded
from workbench.storage.endpoints import endpoint_for
from workbench.storage.presets import load_presets
from workbench.tui.comparison import MOST_COLUMNS, Comparison
from workbench.tui.screens.choosing_place import choose_place
from workbench.tui.screens.choosing_several import SeveralPicker
from workbench.tui.screens.compare import Adopted, CompareScreen
from workbench.tui.screens.popup import Item
from workbench.tui.screens.presets import changes_of
from workbench.tui.screens.question import Question
from workbench.tui.services import Services
from workbench.tui.token_styles import TokenStyles

LEAST, MOST = 2, MOST_COLUMNS
"""How many columns a comparison has."""
_FIRST_CHOSEN = 4
_SEEDS = "one seed", "own seeds"
_ELSEWHERE = "\0elsewhere"
"""Begins what stands for a preset at a place that was chosen for it."""
_DRAFT = "\0draft"
"""Stands for the panel's parameters among names of presets, none of which can hold this character."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The draft to compare, and who is told what comes of it."""

    services: Services
    endpoint: Endpoint
    request: Request
    """What the draft would send."""
    styles: TokenStyles
    on_open: Callable[[Comparison], None]
    """Told of the comparison before anything is sent."""
    on_begin: Callable[[Run], None]
    """Told each run when its turn to be sent has come."""
    on_end: Callable[[Run], None]
    """Told each run that has ended, however it did."""
    on_adopt: Callable[[Adopted], None]
    """Told the column to go on with, and the branch to run where there is one.

    The column's parameters are without the seed that was drawn for all.
    """


@dataclass(frozen=True, slots=True)
class Chosen:
    """The columns that a person chose, and whether each keeps or draws its own seed."""

    columns: Sequence[Column]
    own_seeds: bool = False


def compare(app: App[int], draft: Compared, chosen: Sequence[str] = ()) -> None:
    """Let a person choose presets, and open the comparison of them."""
    choose_columns(app, draft, "Compare", lambda chosen: _ask_and_open(app, draft, chosen), chosen)


def choose_columns(
    app: App[int],
    draft: Compared,
    title: str,
    take: Callable[[Chosen], None],
    chosen: Sequence[str] = (),
    *,
    least: int = LEAST,
) -> None:
    """Let a person choose what to send, and whether under one seed; `take` is told a column for each."""
    loaded = load_presets(draft.services.folders)
    for problem in loaded.problems:
        app.notify(str(problem), title="Preset", severity="warning", markup=False)
    current = draft.request.parameters
    items = [Item(_DRAFT, "draft", "the panel as it is")]
    items += [Item(one.name, one.name, changes_of(one, current)) for one in loaded.presets.values()]
    first = chosen or list(loaded.presets)[:_FIRST_CHOSEN]
    elsewhere: dict[str, tuple[str, Endpoint, str]] = {}

    def vary(picker: SeveralPicker, item: Item) -> None:
        preset = elsewhere[item.value][0] if item.value in elsewhere else item.value

        def add(endpoint: Endpoint, model: str) -> None:
            value = f"{_ELSEWHERE}{len(elsewhere)}"
            elsewhere[value] = preset, endpoint, model
            place = f"{one_line(model, 40) or 'its own model'} @ {one_line(endpoint.name, 40)}"
            picker.add(Item(value, item.title, place))

        choose_place(app, draft.services, draft.endpoint, add)

    def column(name: str) -> Column:
        if name not in elsewhere:
            return _column(loaded.presets.get(name), draft)
        preset, endpoint, model = elsewhere[name]
        return replace(_column(loaded.presets.get(preset), draft), endpoint=endpoint, model=model)

    def taken(names: Sequence[str] | None) -> None:
        if names is None:
            return
        try:
            columns = list(map(column, names))
            check_columns(columns)
        except BadValueError as problem:
            app.notify(str(problem), title="Nothing was sent", severity="error", markup=False)
            return
        take(Chosen(columns, picker.is_switched))

    on_vary = "elsewhere", vary
    picker = SeveralPicker(title, items, first, least=least, most=MOST, on_vary=on_vary, switch=_SEEDS)
    app.push_screen(picker, taken)


def _column(preset: Preset | None, draft: Compared) -> Column:
    """The column of a preset, or of the panel as it is."""
    model = draft.request.model
    if preset is None:
        return Column("draft", draft.endpoint, model, _single(draft.request.parameters))
    name, parameters = preset.name, _single(preset.applied_to(draft.request.parameters))
    if not preset.endpoint or preset.endpoint == draft.endpoint.name:
        return Column(name, draft.endpoint, preset.model or model, parameters, name)
    endpoint = endpoint_for(preset.endpoint, None, draft.services.endpoints)
    return Column(name, endpoint, preset.model or endpoint.model, parameters, name)


def _single(parameters: Parameters) -> Parameters:
    """A column shows one answer, so only one is asked for."""
    return parameters.set("n", None).set("best_of", None)


def check_columns(columns: Sequence[Column]) -> None:
    """Raises BadValueError for the first column that its endpoint would refuse."""
    for column in columns:
        if not column.endpoint.lenient:
            for problem in column.parameters.problems(column.endpoint.limits):
                raise BadValueError(f"{column.title}: {problem.title}", problem.message, problem.hint)


def _ask_and_open(app: App[int], draft: Compared, chosen: Chosen) -> None:
    columns = chosen.columns
    limit = draft.services.config.confirm_above
    prompt = single_prompts(draft.request.prompt)[0]
    billed = sum(Request(prompt, "", column.parameters).billed_tokens for column in columns)

    def answered(yes: bool | None) -> None:
        if yes:
            _open(app, draft, chosen)

    if not limit or billed <= limit:
        answered(True)
    else:
        cost = f"{len(columns)} requests, which may generate and bill up to {billed:,} tokens."
        app.push_screen(Question(cost, "send", "do not send"), answered)


def _open(app: App[int], draft: Compared, chosen: Chosen) -> None:
    columns = chosen.columns
    if chosen.own_seeds:
        note, own = "a seed for each", []
        pinned = [seeded(column, random.getrandbits(31)) for column in columns]
    else:
        seed, note = _seed(columns)
        own = [one for one in columns if one.parameters.get("seed") not in (None, seed)]
        pinned = [replace(column, parameters=column.parameters.set("seed", seed)) for column in columns]
    jobs = plan(single_prompts(draft.request.prompt), pinned, uuid.uuid4().hex)
    notes = [
        *(["one answer a column: n and best_of are not sent"] if draft.request.choices > 1 else []),
        *(f"{one_line(one.title, 40)}: its own seed gave way to the common one" for one in own),
        *ignored(columns, probes_of(draft.services.folders, columns)),
    ]
    runs = [job.run for job in jobs]
    comparison = Comparison(draft.services, columns, runs, draft.on_end, notes, on_begin=draft.on_begin)

    def closed(adopted: Adopted | None) -> None:
        comparison.stop_all()
        if adopted is not None:
            draft.on_adopt(adopted)

    draft.on_open(comparison)
    app.push_screen(CompareScreen(comparison, draft.styles, note), closed)


def _seed(columns: Sequence[Column]) -> tuple[int, str]:
    """The seed of all columns, the first that one has, else a drawn one; and the words for it."""
    for column in columns:
        seed = column.parameters.get("seed")
        if isinstance(seed, int):
            return seed, f"seed {seed} for all"
    seed = random.getrandbits(31)
    return seed, f"seed {seed} drawn for all"
