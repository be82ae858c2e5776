"""From the draft to a grid: the axes or the prompts, what it may cost, and what is answered already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from textual.app import App

from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.prompt import TextPrompt, TokensPrompt, prompt_to_editor, single_prompts
from workbench.domain.run import Run
from workbench.domain.sweep import Axis, Sweep, most_cost, parse_axis
from workbench.domain.values import format_value
from workbench.runner.comparison import Column, ignored, probes_of
from workbench.runner.many import Job
from workbench.runner.resuming import compare_again, sweep_again
from workbench.storage.prompt_sets import read_prompts
from workbench.tui.grid import Grid, Layout
from workbench.tui.screens.compare import Adopted
from workbench.tui.screens.comparing import LEAST, MOST, Chosen, Compared, check_columns, choose_columns
from workbench.tui.screens.form import Entry, Form
from workbench.tui.screens.grid import GridScreen
from workbench.tui.screens.question import Question

MOST_REQUESTS = 2000
"""The most requests of one grid."""


_EDITOR = "the editor's prompts"


@dataclass(frozen=True, slots=True)
class PromptSet:
    """Prompts that are sent under the same presets, and where they are from."""

    name: str
    prompts: tuple[TextPrompt | TokensPrompt, ...]


@dataclass(frozen=True, slots=True)
class Axes:
    """What a sweep varies, as it was typed and as it was read."""

    typed: tuple[str, ...]
    axes: tuple[Axis, ...]
    repeats: int


def sweep(
    app: App[int], draft: Compared, done: Sequence[Run], typed: Sequence[str], note: Callable[[Axes], None]
) -> None:
    """Let a person type the axes, and open the grid; `note` is told them, to offer them the next time.

    `done` is what the session holds: of that, nothing is sent again.
    """

    def take(axes: Axes | None) -> None:
        if axes is None:
            return
        note(axes)
        prompts = single_prompts(draft.request.prompt)
        request = replace(draft.request, prompt=prompts[0])
        jobs = sweep_again(Sweep(request, axes.axes, axes.repeats), draft.endpoint, done)
        notes = [f"only the first of {len(prompts)} prompts is sent"] if len(prompts) > 1 else []
        columns = _sweep_columns(draft, axes, jobs)
        layout = _sweep_layout(axes, prompt_to_editor(request.prompt))
        _ask_and_open(app, draft, layout, columns, jobs, notes=notes)

    first, second, repeats = typed
    entries = [
        Entry("Rows: FIELD=LOW:HIGH:STEP or FIELD=VALUE,VALUE", first, "temperature=0:1.5:0.25"),
        Entry("Columns, if any", second, "top_p=0.5,1"),
        Entry(f"Requests a cell, 1 to {MOST}", repeats),
    ]
    app.push_screen(Form("Sweep", entries, partial(_read_axes, draft)), take)


def _read_axes(draft: Compared, typed: Sequence[str]) -> Axes:
    first, second, repeats = typed
    axes = tuple(parse_axis(one) for one in (first, second) if one or one is first)
    if len({axis.field for axis in axes}) < len(axes):
        raise BadValueError("Rows and columns vary the same field", hint="Vary two different ones.")
    if not repeats.isascii() or not repeats.isdigit() or not 1 <= int(repeats) <= MOST:
        raise BadValueError(f"A cell has 1 to {MOST} requests", f"Not {repeats!r}.")
    planned = Sweep(draft.request, axes, int(repeats))
    _refuse_too_many(planned.size)
    check_columns(
        [
            Column(axis.field, draft.endpoint, "", draft.request.parameters.set(axis.field, value))
            for axis in axes
            for value in axis.values
        ]
    )
    return Axes(tuple(typed), axes, int(repeats))


def _refuse_too_many(count: int) -> None:
    if count > MOST_REQUESTS:
        raise BadValueError(f"That makes {count:,} requests", f"The most is {MOST_REQUESTS:,}.")


def _sweep_layout(axes: Axes, about: str) -> Layout:
    rows = axes.axes[0]
    across: tuple[str, ...] = ("every value",)
    if len(axes.axes) > 1:
        across = tuple(f"{axes.axes[1].field} {format_value(one)}" for one in axes.axes[1].values)
    return Layout("Sweep", about, rows.field, tuple(map(format_value, rows.values)), across, axes.repeats)


def _sweep_columns(draft: Compared, axes: Axes, jobs: Sequence[Job]) -> list[Column]:
    """What each run is made with; a seed that was only drawn for the sweep is left out."""
    keeps_seed = draft.request.parameters.get("seed") is not None or any(
        axis.field == "seed" for axis in axes.axes
    )
    columns = []
    for place, job in enumerate(jobs):
        request = job.run.request
        told = [f"{axis.field} {format_value(request.parameters.get(axis.field))}" for axis in axes.axes]
        told += [f"{place % axes.repeats + 1} of {axes.repeats}"] if axes.repeats > 1 else []
        parameters = request.parameters if keeps_seed else request.parameters.set("seed", None)
        columns.append(Column(" · ".join(told), job.endpoint, request.model, parameters))
    return columns


def prompt_set(app: App[int], draft: Compared, done: Sequence[Run]) -> None:
    """Let a person name a file of prompts and choose presets, and open the grid.

    Without a file the editor's prompts are taken, where there are several. `done` is what the session holds:
    of that, nothing is sent again.
    """
    own = single_prompts(draft.request.prompt)

    def read(typed: Sequence[str]) -> PromptSet:
        if typed[0]:
            path = Path(typed[0]).expanduser()
            prompts = PromptSet(path.name, tuple(map(TextPrompt, read_prompts(path, typed[1]))))
        elif len(own) > 1:
            prompts = PromptSet(_EDITOR, own)
        else:
            raise BadValueError("A prompt set is a file", hint="Type its path.")
        _refuse_too_many(len(prompts.prompts))
        return prompts

    def take(prompts: PromptSet | None) -> None:
        if prompts is not None:
            _choose_and_open(app, draft, done, prompts, least=1)

    several = f"; empty: the {len(own)} prompts of the editor" if len(own) > 1 else ""
    entries = [
        Entry(f"File of prompts: text, JSON Lines or CSV{several}", "", "prompts.jsonl"),
        Entry("Column or key of the prompt, where it has another name than prompt or text"),
    ]
    app.push_screen(Form("Prompt set", entries, read), take)


def compare_prompts(app: App[int], draft: Compared, done: Sequence[Run]) -> None:
    """Let a person choose presets to compare on every prompt of the editor, and open the grid."""
    _choose_and_open(app, draft, done, PromptSet(_EDITOR, single_prompts(draft.request.prompt)), least=LEAST)


def _choose_and_open(
    app: App[int], draft: Compared, done: Sequence[Run], prompts: PromptSet, *, least: int
) -> None:
    title = f"{len(prompts.prompts)} prompts under"
    choose_columns(
        app, draft, title, lambda chosen: _open_prompts(app, draft, done, prompts, chosen), least=least
    )


def _open_prompts(
    app: App[int], draft: Compared, done: Sequence[Run], found: PromptSet, chosen: Chosen
) -> None:
    prompts, columns = found.prompts, chosen.columns
    try:
        _refuse_too_many(len(prompts) * len(columns))
    except BadValueError as problem:
        app.notify(str(problem), title="Nothing was sent", severity="error", markup=False)
        return
    jobs = compare_again(prompts, columns, done, any_seed=chosen.own_seeds)
    titles = tuple(column.title for column in columns)
    layout = Layout("Prompt set", found.name, "prompt", tuple(map(prompt_to_editor, prompts)), titles)
    _ask_and_open(app, draft, layout, list(columns) * len(prompts), jobs)


def _ask_and_open(
    app: App[int],
    draft: Compared,
    layout: Layout,
    columns: Sequence[Column],
    jobs: Sequence[Job],
    *,
    notes: Sequence[str] = (),
) -> None:
    runs = [job.run for job in jobs]
    notes = [*notes, *ignored(columns, probes_of(draft.services.folders, columns))]
    grid = Grid(draft.services, layout, columns, runs, draft.on_end, notes=notes, on_begin=draft.on_begin)
    endpoints = {job.endpoint.name: job.endpoint for job in jobs}

    def ask(wanted: Sequence[Run], send: Callable[[], None]) -> None:
        if wanted:
            question = cost_of(wanted, len(runs), endpoints)
            app.push_screen(Question(question, "send", "do not send"), lambda yes: send() if yes else None)
        else:
            send()

    def closed(adopted: Adopted | None) -> None:
        grid.stop_all()
        if adopted is not None:
            draft.on_adopt(adopted)

    def show() -> None:
        draft.on_open(grid)
        screen = GridScreen(draft.services, grid, draft.styles, lambda send: ask(grid.left, send))
        app.push_screen(screen, closed)

    ask([run for run in runs if run.is_running], show)


def cost_of(runs: Sequence[Run], of: int, endpoints: dict[str, Endpoint]) -> str:
    """How many requests are to be sent and what they may cost, and how many of all are answered already."""
    billed = sum(run.request.billed_tokens for run in runs)
    lines = [f"{len(runs):,} requests, which may generate and bill up to {billed:,} tokens."]
    for name, endpoint in endpoints.items():
        cost = most_cost([run.request for run in runs if run.endpoint == name], 0, endpoint.prices)
        if cost and endpoint.prices is not None:
            lines.append(f"At most {cost:.4f} {endpoint.prices.currency} for the answers of {name}.")
    if len(runs) < of:
        lines.append(f"{of - len(runs):,} of {of:,} are answered already in this session.")
    return "\n".join(lines)
