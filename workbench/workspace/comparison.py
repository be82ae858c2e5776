"""A comparison: its columns, their runs, and where their answers diverge."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from workbench.domain.display import one_line, plural
from workbench.domain.divergence import Divergence, common_prefix, distinguishing, first_divergence
from workbench.domain.run import Failure, Outcome, Run
from workbench.domain.scoring import are_scorings
from workbench.runner.compare_plan import Column, remarks
from workbench.runner.many_runs import Job, ManyRuns
from workbench.runner.run_status import Phase
from workbench.workspace.run_state import RunState, state_of

if TYPE_CHECKING:
    from workbench.workspace.workspace import Workspace

LEAST_COLUMNS, MOST_COLUMNS = 2, 8
"""Minimum and maximum number of columns of a comparison."""
_QUEUED = RunState("◌", "queued", "muted")
_STARTING = RunState("◌", "starting the local model", "accent")


class Comparison:
    """Sends one run per column within each endpoint's rate limits; finished runs are only shown.

    The session saves the runs sent, while they stream and once they end, in the order of the columns.
    """

    def __init__(
        self,
        workspace: Workspace,
        columns: Sequence[Column],
        runs: Sequence[Run],
        notes: Sequence[str] = (),
        *,
        is_scoring: bool = False,
        before_kept: Callable[[Run], None] = lambda run: None,
    ) -> None:
        """`runs` has one run per column; `notes` are remarks on how the columns were made.

        `is_scoring` marks runs that score one answer, and so cannot diverge.
        `before_kept` receives each run that ends, whatever its outcome, before the session saves it.
        """
        self._workspace = workspace
        self.columns = list(columns)
        self.runs = list(runs)
        """One run per column."""
        self._is_scoring = is_scoring or are_scorings(runs)
        self._before_kept = before_kept
        self._notes = list(notes)
        self._sent: dict[str, float] = {}
        self._many: ManyRuns | None = None
        self._task: asyncio.Task[None] | None = None
        self._prefix = 0
        self._revisions: list[int] = []

    @property
    def is_running(self) -> bool:
        """Whether any run streams or is queued."""
        return self._task is not None and not self._task.done()

    # --- sending and stopping ----------------------------------------------------------------------------

    def start(self) -> None:
        """Send every run that has not ended."""
        if any(run.is_running for run in self.runs):
            self._task = asyncio.create_task(self._execute())
            self._task.add_done_callback(self._finish)

    def stop_column(self, column: int) -> bool:
        """Stop the run of one column; return False if it has already ended."""
        run = self.runs[column]
        if not run.is_running:
            return False
        if self._many is not None:
            self._many.stop(run)
        else:
            self._end(run, Outcome.STOPPED)
        return True

    def stop(self) -> bool:
        """Stop all runs, keeping the text received; return False if none is running."""
        return self.is_running and self._task is not None and self._task.cancel()

    async def wait(self) -> bool:
        """Wait until all runs end; return False if they were stopped. Re-raises an unexpected error."""
        if self._task is None:
            return True
        await asyncio.wait({self._task})
        return not self._task.cancelled() and self._task.result() is None

    async def aclose(self) -> None:
        """Stop all runs and wait until they end."""
        if self._task is not None:
            self.stop()
            await asyncio.wait({self._task})

    def keep(self, column: int) -> None:
        """Keep one column only, stopping the runs of the others."""
        for other in range(len(self.runs)):
            if other != column:
                self.stop_column(other)
        self.columns, self.runs = [self.columns[column]], [self.runs[column]]
        self._prefix = 0

    async def _execute(self) -> None:
        columns = zip(self.columns, self.runs, strict=True)
        self._many = ManyRuns(
            self._workspace.services.connections,
            [Job(column.endpoint, run) for column, run in columns if run.is_running],
            on_begin=self._began,
            on_status=self._workspace.runs.note_status,
            on_end=self._ended,
        )
        await self._many.execute()

    def _began(self, run: Run) -> None:
        self._workspace.keeper.began(run)

    def _ended(self, run: Run) -> None:
        self._before_kept(run)
        self._workspace.runs.keep_compared(run)

    def _end(self, run: Run, outcome: Outcome) -> None:
        run.outcome = run.outcome or outcome
        self._ended(run)

    def _finish(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        for run in self.runs:
            if run.is_running:
                if error is not None:
                    # A defect of the workbench must not lose the texts received.
                    detail = one_line(f"{type(error).__name__}: {error}")
                    run.error = Failure("The workbench failed", detail, "The text received so far is kept.")
                self._end(run, Outcome.STOPPED if error is None else Outcome.ERROR)
        if self._many is not None:
            self._workspace.runs.put_in_order([job.run for job in self._many.jobs])

    # --- display -----------------------------------------------------------------------------------------

    def state(self, column: int) -> RunState:
        """The state of a column's run."""
        run = self.runs[column]
        if run.is_running and (self._many is None or self._many.phase(run) is Phase.QUEUED):
            return _QUEUED
        if run.is_running and self._many is not None and self._many.phase(run) is Phase.STARTING:
            return _STARTING
        now = monotonic()
        return state_of(run, now - self._sent.setdefault(run.id, now))

    @property
    def summary(self) -> str:
        """The numbers of columns running, queued and done."""
        running = [run for run in self.runs if run.is_running]
        queued = sum(self._many is not None and self._many.phase(run) is Phase.QUEUED for run in running)
        ended = len(self.runs) - len(running)
        counts = ((len(running) - queued, "running"), (queued, "queued"), (ended, "done"))
        return " · ".join(f"{count} {word}" for count, word in counts if count)

    @property
    def titles(self) -> tuple[str, ...]:
        """The columns' names with only the parameters and models that distinguish them."""
        differing = distinguishing([column.parameters for column in self.columns])
        models = [_model(column) for column in self.columns]
        titles = []
        for column, fields, model in zip(self.columns, differing, models, strict=True):
            shown = [field for field in fields if not field.endswith(" unset") and field not in column.title]
            parts = [one_line(part, 40) for part in (column.title, *shown)]
            titles.append(" · ".join([*parts, model] if len(set(models)) > 1 else parts))
        return tuple(titles)

    @property
    def remarks(self) -> list[str]:
        """Remarks on the columns and their runs, without duplicates."""
        notes = list(self._notes)
        if not self.is_running:
            notes += [] if self._is_scoring else remarks(self.runs)
        for column, run in zip(self.columns, self.runs, strict=True):
            notes += [f"{column.title}: {note}" for note in run.notes]
        return list(dict.fromkeys(one_line(note) for note in notes))

    def agreement(self) -> tuple[int, Divergence | None]:
        """The number of leading tokens all answers share so far, and where they diverge, if known."""
        choices = [run.ordered[0] for run in self.runs if run.choices and not self._is_scoring]
        if len(choices) < 2 or any(run.is_running and not run.choices for run in self.runs):
            return 0, None
        revisions = [choice.revision for choice in choices]
        if revisions != self._revisions:
            # A new revision may have replaced tokens, so compare from the start.
            self._revisions, self._prefix = revisions, 0
        self._prefix = common_prefix(choices, self._prefix)
        return self._prefix, first_divergence(choices, self._prefix)

    @property
    def agreed(self) -> str:
        """How far answers that do not diverge agree; empty for a single run or a scoring."""
        if len(self.runs) == 1 or self._is_scoring:
            return ""
        if self.is_running:
            return "identical so far"
        if not (shared := self.agreement()[0]):
            return "nothing to compare"
        is_whole = all(run.ordered[0].finish_reason is not None for run in self.runs if run.choices)
        return "identical" if is_whole else f"identical for {plural(shared, 'token')}"


def _model(column: Column) -> str:
    """The names of a column's model and endpoint."""
    model = one_line(column.model or column.endpoint.model, 40) or "default model"
    return f"{model} @ {one_line(column.endpoint.name, 40)}"
