"""A grid of runs, for a sweep, a prompt set, or a saved group of runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from workbench.domain.display import one_line
from workbench.domain.divergence import distinguishing
from workbench.domain.measures import Measure, Summary, spread, summarise
from workbench.domain.parameter_table import ParameterValue
from workbench.domain.parameter_values import format_value, value_or_unset
from workbench.domain.prompt import Prompt, prompt_to_editor
from workbench.domain.request import Request
from workbench.domain.run import Outcome, Run
from workbench.domain.run_group import GroupKind, RunGroup
from workbench.domain.sweep import Sweep
from workbench.runner.compare_plan import Column, SavedRun, grid_remarks, saved_column
from workbench.storage.endpoint_list import EndpointList
from workbench.workspace.comparison import Comparison
from workbench.workspace.costs import Cost, cost_of

if TYPE_CHECKING:
    from workbench.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Layout:
    """The rows and columns of a grid. Runs are ordered by row, column and repeat."""

    heading: str
    about: str
    """The prompt, or the file with the prompts."""
    corner: str
    """Heading of the rows."""
    rows: tuple[str, ...]
    across: tuple[str, ...]
    repeats: int = 1

    ONE_COLUMN: ClassVar = ("every value",)
    """The `across` of a grid with a single column."""

    @staticmethod
    def of_sweep(sweep: Sweep, about: str) -> Layout:
        """Return the layout of a sweep: the first field down, the second across."""
        down, *others = sweep.axes
        across = tuple(f"{axis.field} {format_value(value)}" for axis in others for value in axis.values)
        rows = tuple(map(format_value, down.values))
        return Layout("Sweep", about, down.field, rows, across or Layout.ONE_COLUMN, sweep.repeats)

    def indices_of(self, row: int, column: int) -> range:
        """Return the indices of a cell's runs."""
        first = (row * len(self.across) + column) * self.repeats
        return range(first, first + self.repeats)


class Grid(Comparison):
    """Sends the runs of a grid within each endpoint's rate limits; finished runs are only shown."""

    def __init__(
        self,
        workspace: Workspace,
        layout: Layout,
        columns: Sequence[Column],
        runs: Sequence[Run],
        notes: Sequence[str] = (),
    ) -> None:
        """`columns` has the settings of each run."""
        super().__init__(workspace, columns, runs, notes)
        self._sent_ids: set[str] = set()
        self.layout = layout
        self._summaries: dict[str, list[Summary]] = {}
        self._means: dict[Measure, list[float | None]] = {}
        self._ordered: dict[Measure, list[float]] = {}
        self._note_cells()

    def _began(self, run: Run) -> None:
        self._sent_ids.add(run.id)
        super()._began(run)

    def _ended(self, run: Run) -> None:
        self._note_end(self._cells[run.id])
        # Runs stopped before they were sent are not saved.
        if run.id in self._sent_ids or run.error is not None:
            super()._ended(run)

    def _note_cells(self) -> None:
        """Map each run to its cell, and mark all cells as changed."""
        self._cells = {run.id: index // self.layout.repeats for index, run in enumerate(self.runs)}
        self.mark_all_changed()

    def _note_end(self, cell: int) -> None:
        """Recompute a cell's figures."""
        self._changed.add(cell)
        self._ordered.clear()
        for measure, means in self._means.items():
            means[cell] = self._mean_of(cell, measure)

    def mark_all_changed(self) -> None:
        """Mark every cell as changed, for example to show another measure."""
        self._changed = set(self._cells.values())

    def changed(self) -> set[int]:
        """Return the indices, row by row, of the cells that may have changed since the last call."""
        streaming = {self._cells[run.id] for run in self.runs if run.is_running and run.id in self._sent_ids}
        changed, self._changed = self._changed | streaming, set[int]()
        return changed

    @property
    def summary(self) -> str:
        """The numbers of requests running, queued and answered."""
        counts = [part for part in super().summary.split(" · ") if not part.endswith("done")]
        answered = sum(run.is_answered for run in self.runs)
        return " · ".join((*counts, f"{answered} of {len(self.runs)} answered"))

    @property
    def left(self) -> list[Run]:
        """The runs that ended without an answer."""
        return [run for run in self.runs if not run.is_running and not run.is_answered]

    @property
    def cost(self) -> str:
        """The maximum cost of the requests still to send, and the number already answered."""
        runs = [run for run in self.runs if run.is_running] or self.left
        endpoints = {column.endpoint.name: column.endpoint for column in self.columns}
        cost = sum((cost_of(endpoints[run.endpoint], run.request, run.split) for run in runs), Cost())
        lines = [str(cost)]
        if len(runs) < len(self.runs):
            answered = len(self.runs) - len(runs)
            lines.append(f"{answered:,} of {len(self.runs):,} are answered already in this session.")
        return "\n".join(lines)

    def send_left(self) -> None:
        """Send again the runs that ended without an answer; call this only when nothing streams."""
        for index, run in enumerate(self.runs):
            if not run.is_answered:
                self.runs[index] = Run(
                    run.request,
                    run.endpoint,
                    preset=run.preset,
                    added=run.added,
                    group=run.group,
                    split=run.split,
                )
        self._means.clear()
        self._ordered.clear()
        self._note_cells()
        self._many = None
        self.start()

    def values(self, row: int, column: int, measure: Measure) -> list[float]:
        """Return a measure of each finished answer of a cell, skipping answers without it."""
        found = (
            summary.value(measure)
            for index in self.layout.indices_of(row, column)
            for summary in self._summarised(index)
        )
        return [value for value in found if value is not None]

    def _summarised(self, index: int) -> list[Summary]:
        run = self.runs[index]
        if run.is_running or not run.choices:
            return []
        if run.id not in self._summaries:
            prices = self.columns[index].endpoint.prices
            self._summaries[run.id] = [summarise(run, choice, prices) for choice in run.ordered]
        return self._summaries[run.id]

    def cell_means(self, measure: Measure) -> Sequence[float | None]:
        """Return the mean of a measure in each cell, row by row; None for a cell without values."""
        if measure not in self._means:
            cells = range(len(self.runs) // self.layout.repeats)
            self._means[measure] = [self._mean_of(cell, measure) for cell in cells]
        return self._means[measure]

    def _mean_of(self, cell: int, measure: Measure) -> float | None:
        found = spread(self.values(*divmod(cell, len(self.layout.across)), measure))
        return None if found is None else found[0]

    def mean(self, row: int, column: int, measure: Measure) -> float | None:
        """Return the mean of a measure in one cell; None without values."""
        return self.cell_means(measure)[row * len(self.layout.across) + column]

    def means(self, measure: Measure) -> list[float]:
        """Return the means of all cells that have values, in ascending order."""
        if measure not in self._ordered:
            self._ordered[measure] = sorted(mean for mean in self.cell_means(measure) if mean is not None)
        return self._ordered[measure]

    @property
    def remarks(self) -> list[str]:
        """Remarks on how the grid was made, failed runs, and the answers."""
        failures = [run.error.title for run in self.runs if run.error is not None]
        notes = [*self._notes, *(f"{count} failed: {title}" for title, count in Counter(failures).items())]
        if not self.is_running:
            each = len(self.layout.across) * self.layout.repeats
            starts = range(0, len(self.runs), each)
            notes += grid_remarks([self.runs[start : start + each] for start in starts])
        notes += [note for run in self.runs for note in run.notes]
        return list(dict.fromkeys(one_line(note) for note in notes))


def newest_answers(group: RunGroup) -> list[Run]:
    """Return a group's runs, for a request sent several times only the last answer, else the last attempt."""
    found: dict[tuple[str, str, Request], Run] = {}
    for run in group.runs:
        key = (run.endpoint, run.preset, run.request)
        if key not in found or run.is_answered or not found[key].is_answered:
            found[key] = run
    return list(found.values())


_AXES = 2
"""Maximum number of varied fields shown as a grid of values."""


def saved_grid(workspace: Workspace, group: RunGroup) -> Grid:
    """Return the grid of a group's runs, with a stopped run for each request that was never sent."""
    runs, varied, endpoints = newest_answers(group), group.varied, workspace.services.endpoints
    if group.kind is GroupKind.SWEEP and 0 < len(varied) <= _AXES:
        return Grid(workspace, *_sweep(runs, varied, endpoints))
    return Grid(workspace, *_table(group, runs, endpoints))


_GridParts: TypeAlias = tuple[Layout, Sequence[Column], Sequence[Run]]
"""A layout, and the settings and the run of each of its positions."""


def _sweep(
    runs: Sequence[Run],
    varied: Mapping[str, Sequence[ParameterValue | None]],
    endpoints: EndpointList,
) -> _GridParts:
    """Arrange the runs of a sweep; of two varied fields, the one that changes faster is across."""
    fields = list(varied)
    first = runs[0].request.parameters
    made = saved_column(SavedRun("", runs[0]), endpoints)
    moved = ([run.request.parameters.get(field) != first.get(field) for field in fields] for run in runs)
    if next(filter(any, moved), []) == [True, False]:
        fields.reverse()
    seeds = dict.fromkeys(run.request.parameters.get("seed") for run in runs)
    repeats = (
        [None] if "seed" in fields else sorted(seeds, key=lambda seed: seed if isinstance(seed, int) else -1)
    )
    by_cell = {run.request.parameters: run for run in runs}
    ordered_runs, columns = [], []
    for values in product(*(varied[field] for field in fields)):
        for number, seed in enumerate(repeats, 1):
            changes = dict(zip(fields, values, strict=True)) | ({} if "seed" in fields else {"seed": seed})
            parameters = first.set_all(changes)
            run = by_cell.get(parameters) or _unsent(runs[0], runs[0].request._replace(parameters=parameters))
            names = [f"{field} {value_or_unset(value)}" for field, value in zip(fields, values, strict=True)]
            names += [f"{number} of {len(repeats)}"] if len(repeats) > 1 else []
            ordered_runs.append(run)
            columns.append(replace(made, title=" · ".join(names), parameters=parameters))
    across = tuple(f"{field} {value_or_unset(value)}" for field in fields[1:] for value in varied[field])
    layout = Layout(
        "Sweep",
        prompt_to_editor(runs[0].request.prompt),
        fields[0],
        tuple(map(value_or_unset, varied[fields[0]])),
        across or Layout.ONE_COLUMN,
        len(repeats),
    )
    return layout, columns, ordered_runs


def _table(group: RunGroup, runs: Sequence[Run], endpoints: EndpointList) -> _GridParts:
    """Arrange runs as a row per prompt and a column per setting; for a single prompt, a row per setting."""
    prompts = group.prompts
    settings = {_settings_of(run): run for run in reversed(runs)}
    ordered = sorted(settings.values(), key=runs.index)
    names = _names(ordered)
    by_cell: dict[tuple[Prompt, object], Run] = {(run.request.prompt, _settings_of(run)): run for run in runs}
    ordered_runs, columns = [], []
    for prompt in prompts:
        for name, example in zip(names, ordered, strict=True):
            found = by_cell.get((prompt, _settings_of(example)))
            run = found or _unsent(example, example.request._replace(prompt=prompt))
            ordered_runs.append(run)
            columns.append(saved_column(SavedRun(name, run), endpoints))
    if len(prompts) == 1:
        about = prompt_to_editor(prompts[0])
        return Layout("Compare", about, "settings", names, Layout.ONE_COLUMN), columns, ordered_runs
    rows = tuple(map(prompt_to_editor, prompts))
    return Layout("Prompt set", group.about, "prompt", rows, names), columns, ordered_runs


def _settings_of(run: Run) -> tuple[str, str, str, object]:
    return run.preset, run.endpoint, run.request.model, run.request.parameters


def _names(runs: Sequence[Run]) -> tuple[str, ...]:
    """Name the settings by preset, and by parameters as well unless the presets are distinct."""
    presets = [run.preset or "current settings" for run in runs]
    differing = distinguishing([run.request.parameters for run in runs])
    is_clear = len(set(presets)) == len(presets)
    return tuple(
        preset if is_clear else " · ".join([preset, *fields, *([run.endpoint] if not fields else [])])
        for run, preset, fields in zip(runs, presets, differing, strict=True)
    )


def _unsent(like: Run, request: Request) -> Run:
    return Run(
        request,
        like.endpoint,
        preset=like.preset,
        added=like.added,
        group=like.group,
        outcome=Outcome.STOPPED,
    )
