"""The runs of the open session, finished and streaming, and the operations on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, overload

from workbench.domain.choice import Choice
from workbench.domain.display import one_line, plural
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.domain.run_group import RunGroup
from workbench.domain.scoring import SecondScoring
from workbench.domain.session import in_order
from workbench.domain.split import NOT_SPLIT, Split, left_out
from workbench.workspace.activity import Activity
from workbench.workspace.keeper import Keeper
from workbench.workspace.notifications import (
    AnswerScored,
    Notification,
    RunBegan,
    RunEnded,
    RunsAdded,
    RunsChanged,
    RunSelected,
    StatusChanged,
)
from workbench.workspace.services import Services
from workbench.workspace.undo_history import History, NameRun, RemoveRuns, RestoreRuns

if TYPE_CHECKING:
    from workbench.runner.branching import Branch, Origin
    from workbench.runner.run_status import Status
    from workbench.workspace.comparison import Comparison


UnderWay: TypeAlias = "Activity | Comparison"
"""Something that streams: a run, a comparison, a grid, a rerun, an answer in a chat."""


class SelectedToken(NamedTuple):
    """The selected token, with its run and choice."""

    run: Run
    choice: Choice
    position: int


def refuse_running(*runs: Run) -> None:
    """Raise BadValueError if any of the runs still streams."""
    if any(run.is_running for run in runs):
        raise BadValueError("The run is still streaming", hint="Wait for its end, or stop it with Esc.")


class Runs(Sequence[Run]):
    """The runs shown, in order: those of the session and those streaming. Changes can be undone."""

    def __init__(
        self, services: Services, keeper: Keeper, history: History, notify: Callable[[Notification], None]
    ) -> None:
        """`keeper` saves the runs; `notify` receives their changes."""
        self._keeper = keeper
        self._history = history
        self._notify = notify
        self._all: list[Run] = []
        self.activity = Activity(services, self._ended, self.note_status)
        """The run of the main screen."""
        self.under_way: list[UnderWay] = []
        """Other activities that stream or are shown: comparisons, grids, reruns, chat answers."""
        self.selected: SelectedToken | None = None
        """The token under the cursor, as last set by the view."""
        self.selected_group: RunGroup | None = None
        """The selected comparison, sweep or prompt set; then no token is selected."""
        self._undone: set[str] = set()
        """Ids of runs that were undone while they streamed."""
        self._left_out: dict[tuple[str, str], Split] = {}

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> list[Run]: ...
    def __getitem__(self, index: int | slice) -> Run | list[Run]:
        return self._all[index]

    def __len__(self) -> int:
        return len(self._all)

    def begin_with(self, keeper: Keeper) -> None:
        """Replace the runs by those of another session."""
        self._keeper, self._all, self.selected = keeper, list(keeper.session.runs), None
        self.selected_group = None

    @property
    def answer(self) -> tuple[Run, Choice] | None:
        """The answer with the selected token, else the newest answer; None if a group is selected."""
        if self.selected is not None:
            return self.selected.run, self.selected.choice
        if self.selected_group is not None:
            return None
        newest = next((run for run in reversed(self._all) if run.choices), None)
        return None if newest is None else (newest, newest.ordered[0])

    def one_answer(self) -> tuple[Run, Choice] | None:
        """Return the answer that a command applies to. Raises BadValueError if a group is selected."""
        if self.selected is None and self.selected_group is not None:
            raise BadValueError(
                f"{plural(len(self.selected_group.runs), 'run')} selected",
                hint="Space unfolds them, then j goes to one; Enter opens all.",
            )
        return self.answer

    def select(self, run: Run, choice: Choice | None = None, position: int | None = None) -> None:
        """Ask subscribers to show a token; by default the first of the run's answer."""
        self._notify(RunSelected(run, choice, position))

    def show_scoring(self, second: SecondScoring) -> None:
        """Ask subscribers to show another model's scoring of an answer."""
        self._notify(AnswerScored(second))

    # --- sending and stopping ----------------------------------------------------------------------------

    @property
    def is_streaming(self) -> bool:
        """Whether any run streams or waits."""
        return any(activity.is_running for activity in (self.activity, *self.under_way))

    def stop(self) -> None:
        """Stop all streaming runs, keeping the text received."""
        for activity in (self.activity, *self.under_way):
            activity.stop()

    async def aclose(self) -> None:
        """Stop all streaming runs and wait until they end."""
        for activity in (self.activity, *self.under_way):
            await activity.aclose()

    def send(
        self,
        request: Request,
        endpoint: Endpoint,
        preset: str = "",
        branch: Branch | None = None,
        split: Split | None = None,
        *,
        added: tuple[str, ...] = (),
    ) -> Run:
        """Send a request as the main screen's run; `split` divides it into several requests.

        `added` names parameters that the user did not set.
        """
        self._history.seal()
        parent = branch.parent if branch is not None else None
        run = Run(request, endpoint.name, parent=parent, preset=preset, added=added, split=split)
        if branch is not None and branch.note:
            run.note(branch.note)
        self.start(run, endpoint, branch.branch_point if branch is not None else None)
        return run

    def start(self, run: Run, endpoint: Endpoint, origin: Origin | None = None) -> None:
        """Send a run as the main screen's; note on it a retokenisation where it branches from `origin`."""
        self._all.append(run)
        self.activity.start(run, endpoint, origin)
        self._keeper.began(run)
        self._notify(RunBegan(run))

    def note_status(self, run: Run, status: Status) -> None:
        """Notify subscribers of the status of a run."""
        self._notify(StatusChanged(run, status))

    def _ended(self, run: Run) -> None:
        self._keeper.ended(run)
        if run.id in self._undone:
            self._undone.discard(run.id)
            self._keeper.remove(run)
        self._notify(RunEnded(run))

    def add(self, runs: Sequence[Run], *, is_sent_here: bool = False) -> None:
        """Show finished, saved runs; `is_sent_here` marks runs sent by this process."""
        index = self._index_before("")
        is_end = index == len(self._all)
        self._all[index:index] = runs
        self._notify(RunsAdded(tuple(runs), is_sent_here) if is_end else RunsChanged())

    def _index_before(self, id: str) -> int:
        """Return the index to insert a finished run at: before the run `id`, and before any streaming run."""
        indexes = (index for index, run in enumerate(self._all) if run.id == id or run.is_running)
        return next(indexes, len(self._all))

    def keep_compared(self, run: Run) -> None:
        """Save and show a finished run of a comparison."""
        self._keeper.ended(run)
        self.add([run], is_sent_here=True)

    def put_in_order(self, runs: Sequence[Run]) -> None:
        """Put runs that were sent together in this order, whichever ended first."""
        if self._keeper.put_in_order(runs):
            self._all = in_order(self._all, [run.id for run in runs])
            self._notify(RunsChanged())

    def known_split(self, request: Request, endpoint: Endpoint) -> Split:
        """Return which prompts or choices the endpoint left out before, and so need separate requests."""
        return self._left_out.get((endpoint.name, request.model), NOT_SPLIT)

    def lacks(self, run: Run) -> bool:
        """Whether an answer lacks requested choices, which is remembered for `known_split`."""
        if lacks := left_out(run):
            self._left_out[run.endpoint, run.request.model] = lacks
        return bool(lacks)

    # --- changes -----------------------------------------------------------------------------------------

    def _check(self, runs: Sequence[Run]) -> None:
        if self._keeper.read_only:
            raise BadValueError("The session is open read-only", hint="Nothing can be changed in it.")
        refuse_running(*runs)

    def remove(self, runs: Sequence[Run], label: str) -> None:
        """Remove runs from the session, as one change. Raises BadValueError if read-only or streaming."""
        self._check(runs)
        self._history.record(label, self.apply(RemoveRuns(tuple(runs))))

    def name(self, run: Run, name: str) -> None:
        """Rename a run. Raises BadValueError if the session is read-only or the run is streaming."""
        if name == run.name:
            return
        self._check([run])
        label = f"the name {one_line(name, 40)}" if name else f"the name {one_line(run.name, 40)} removed"
        self._history.record(label, self.apply(NameRun(run, name)))

    def apply(self, step: RemoveRuns | RestoreRuns | NameRun) -> RemoveRuns | RestoreRuns | NameRun:
        """Apply a step of the undo history; return the step that undoes it."""
        match step:
            case NameRun(run, name):
                was = run.name
                self._keeper.name_run(run, name)
                self._notify(RunsChanged())
                return NameRun(run, was)
            case RemoveRuns():
                return self._remove(step)
            case RestoreRuns():
                return self._restore(step)

    def _remove(self, step: RemoveRuns) -> RestoreRuns:
        gone = {run.id for run in step.runs}
        ids = [*(run.id for run in self._all), ""]
        removed = tuple((run, ids[at + 1]) for at, run in enumerate(self._all) if run.id in gone)
        for run, _ in removed:
            if run.is_running:
                self._undone.add(run.id)
                if run is self.activity.run:
                    self.activity.stop()
            else:
                self._keeper.remove(run)
        self._all = [run for run in self._all if run.id not in gone]
        self._notify(RunsChanged())
        if step.is_branch:
            self._select_origin(step.runs[0])
        return RestoreRuns(removed, step.is_branch)

    def _select_origin(self, branch: Run) -> None:
        """Select the token of the parent run at which a branch starts."""
        left = branch.parent
        for run in self._all:
            if left is not None and run.id == left.run and left.choice in run.choices:
                self.select(run, run.choices[left.choice], left.token)
                return

    def _restore(self, step: RestoreRuns) -> RemoveRuns:
        # In reverse, as each run is inserted before the run that followed it.
        for run, before in reversed(step.runs):
            if run.is_running:
                at = len(self._all)
                self._undone.discard(run.id)
            else:
                at = self._index_before(before)
                self._keeper.restore(run, self._all[at] if at < len(self._all) else None)
            self._all.insert(at, run)
        self._notify(RunsChanged())
        return RemoveRuns(tuple(run for run, _ in step.runs), step.is_branch)
