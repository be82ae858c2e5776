"""A sweep or a prompt set under way: its cells, their runs, and what is left to send."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workbench.domain.display import one_line
from workbench.domain.run import Outcome, Run
from workbench.domain.summary import Measure, Summary, spread, summarise
from workbench.runner.comparison import Column, grid_remarks
from workbench.tui.compare.comparison import Comparison
from workbench.workspace.costs import Cost, cost_of
from workbench.workspace.services import Services

_ANSWERED = (Outcome.COMPLETE, Outcome.UNFINISHED)


@dataclass(frozen=True, slots=True)
class Layout:
    """Which run stands where: row by row, and the repeats of a cell one after another."""

    heading: str
    about: str
    """The prompt, or the file of the prompts."""
    corner: str
    """What the rows are."""
    rows: tuple[str, ...]
    across: tuple[str, ...]
    repeats: int = 1

    def places(self, row: int, column: int) -> range:
        """The places of a cell's runs."""
        first = (row * len(self.across) + column) * self.repeats
        return range(first, first + self.repeats)


class Grid(Comparison):
    """Sends one run a place, within each endpoint's limits; runs that have ended are shown as they are."""

    def __init__(
        self,
        services: Services,
        layout: Layout,
        columns: Sequence[Column],
        runs: Sequence[Run],
        on_end: Callable[[Run], None],
        *,
        notes: Sequence[str] = (),
        on_begin: Callable[[Run], None] | None = None,
    ) -> None:
        """`columns` has what each run was made with; `on_end` is told each that was sent and has ended."""

        begun: set[str] = set()

        def began(run: Run) -> None:
            begun.add(run.id)
            if on_begin is not None:
                on_begin(run)

        def ended(run: Run) -> None:
            # What was stopped before its turn came is no run worth keeping.
            if run.id in begun or run.error is not None:
                on_end(run)

        super().__init__(services, columns, runs, ended, notes, on_begin=began)
        self.layout = layout
        self._summaries: dict[str, list[Summary]] = {}

    @property
    def summary(self) -> str:
        """How many requests stream and wait, and how many of all have an answer."""
        counts = [one for one in super().summary.split(" · ") if not one.endswith("ended")]
        answered = sum(run.outcome in _ANSWERED for run in self._runs)
        told = [*counts, f"{answered} of {len(self._runs)} answered"]
        return " · ".join(told)

    @property
    def left(self) -> list[Run]:
        """The runs that ended without an answer."""
        return [run for run in self._runs if not run.is_running and run.outcome not in _ANSWERED]

    @property
    def cost(self) -> str:
        """How many requests are to be sent, what they may cost, and how many of all are answered already."""
        runs = [run for run in self._runs if run.is_running] or self.left
        endpoints = {column.endpoint.name: column.endpoint for column in self._columns}
        cost = sum((cost_of(endpoints[run.endpoint], run.request, run.split) for run in runs), Cost())
        lines = [str(cost)]
        if len(runs) < len(self._runs):
            answered = len(self._runs) - len(runs)
            lines.append(f"{answered:,} of {len(self._runs):,} are answered already in this session.")
        return "\n".join(lines)

    def send_left(self) -> None:
        """Send again what ended without an answer; call it when nothing streams."""
        for place, run in enumerate(self._runs):
            if run.outcome not in _ANSWERED:
                self._runs[place] = Run(
                    run.request, run.endpoint, preset=run.preset, group=run.group, split=run.split
                )
        self._many = None
        self.start()

    def values(self, row: int, column: int, measure: Measure) -> list[float]:
        """A cell's figures: one for each answer that has ended and has it."""
        found = (
            summary.value(measure)
            for place in self.layout.places(row, column)
            for summary in self._summarised(place)
        )
        return [value for value in found if value is not None]

    def _summarised(self, place: int) -> list[Summary]:
        run = self._runs[place]
        if run.is_running or not run.choices:
            return []
        if run.id not in self._summaries:
            prices = self._columns[place].endpoint.prices
            self._summaries[run.id] = [summarise(run, choice, prices) for choice in run.ordered]
        return self._summaries[run.id]

    def mean(self, row: int, column: int, measure: Measure) -> float | None:
        """A cell's figure; the mean where there are several."""
        found = spread(self.values(row, column, measure))
        return None if found is None else found[0]

    def words(self, row: int, column: int, measure: Measure) -> str:
        """What stands in a cell: its figure, or what its runs are doing."""
        values = self.values(row, column, measure)
        places = self.layout.places(row, column)
        if (found := spread(values)) is not None and not any(self._runs[one].is_running for one in places):
            return f"{found[0]:.3g}" + (f" ±{found[1]:.2g}" if len(values) > 1 else "")
        busiest = next((one for one in places if self._runs[one].is_running), places[0])
        run = self._runs[busiest]
        if run.is_running and run.tokens:
            return f"{self.state(busiest).glyph} {run.tokens}"
        return self.state(busiest).glyph

    def means(self, measure: Measure) -> list[float]:
        """The figures of all cells that have one, the least first."""
        rows, across = range(len(self.layout.rows)), range(len(self.layout.across))
        means = (self.mean(row, column, measure) for row in rows for column in across)
        return sorted(one for one in means if one is not None)

    @property
    def remarks(self) -> list[str]:
        """How the grid was made, why runs failed, and what is to be known of answers."""
        failures = [run.error.title for run in self._runs if run.error is not None]
        told = [*self._notes, *(f"{failures.count(one)} failed: {one}" for one in dict.fromkeys(failures))]
        if not self.is_running:
            each = len(self.layout.across) * self.layout.repeats
            starts = range(0, len(self._runs), each)
            told += grid_remarks([self._runs[start : start + each] for start in starts])
        told += [note for run in self._runs for note in run.notes]
        return list(dict.fromkeys(one_line(one) for one in told))
