"""What the main screen does with branches: sending them, showing their tree, naming and pruning them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from textual import on

from workbench.domain.display import one_line
from workbench.domain.errors import BadValueError
from workbench.domain.run import Run
from workbench.domain.session import Draft
from workbench.tui.screens.undoing import UndoScreen
from workbench.tui.services import Services
from workbench.tui.token_styles import TokenStyles
from workbench.tui.widgets.inspector import Inspector
from workbench.workspace.history import Change


class BranchScreen(UndoScreen):
    """Sends what branches from a token, and looks after the runs of the session; all can be undone."""

    def __init__(self, services: Services, styles: TokenStyles, session: Path | None = None) -> None:
        super().__init__(services, styles, session)
        self.sends_ids = services.config.branch_ids
        """Whether branches are sent as token ids also where the prompt was text."""
        self.typed_axes: tuple[str, ...] = ("temperature=0:1.5:0.25", "", "1")
        """The axes of a sweep that were typed last."""
        self._taken_back: set[str] = set()
        """Ids of runs that were taken back while they streamed."""

    def stop_sending(self, run: Run) -> None:
        """Stop a run where it streams."""
        raise NotImplementedError

    # --- branching ---------------------------------------------------------------------------------------

    @on(Inspector.AlternativeChosen)
    def _take_row(self, event: Inspector.AlternativeChosen) -> None:
        self.output.take_alternative(event.position)

    def note_branch(self, run: Run, label: str, before: Draft | None = None) -> None:
        """Record a run that was sent, and what became of the draft with it, as one change."""
        after = self.noted = self.draft

        def undo() -> None:
            self._take_back(run)
            if before is not None:
                self._put_back(before)
            self._go_to_origin(run)

        def redo() -> None:
            self._bring_back(run)
            if before is not None:
                self._put_back(after)

        self.changes.record(Change(label, undo, redo))

    def _take_back(self, run: Run) -> None:
        if run.is_running:
            self._taken_back.add(run.id)
            self.stop_sending(run)
        else:
            self.keeper.remove(run)
        self.output.show_runs([one for one in self.output.runs if one.id != run.id])

    def _bring_back(self, run: Run) -> None:
        if run.is_running:
            self._taken_back.discard(run.id)
        else:
            self.keeper.restore(run, None)
        self.output.show_runs([*self.output.runs, run])

    def keep_ended(self, run: Run) -> None:
        """Keep a run that is over, unless it was taken back while it streamed."""
        self.keeper.ended(run)
        if run.id in self._taken_back:
            self._taken_back.discard(run.id)
            self.keeper.remove(run)

    def _go_to_origin(self, run: Run) -> None:
        """Go to the token that a run leaves."""
        origin = run.parent
        parent = next((one for one in self.output.runs if origin and one.id == origin.run), None)
        if origin is not None and parent is not None and origin.choice in parent.choices:
            self.output.go_to(parent, parent.choices[origin.choice], origin.token)

    # --- the runs of the session -------------------------------------------------------------------------

    @property
    def tree_runs(self) -> Sequence[Run]:
        """The runs as they are now, in the order of the session."""
        return self.output.runs

    def prune(self, runs: Sequence[Run]) -> bool:
        """Take runs out of the session, until that is undone; whether that may be done."""
        if not self._may_change(runs):
            return False
        self.remove_runs(runs, "the pruned run" if len(runs) == 1 else f"the {len(runs)} pruned runs")
        return True

    def name_run(self, run: Run, name: str) -> bool:
        """Give a run a name, until that is undone; whether that may be done."""
        before = run.name
        if name == before or not self._may_change([run]):
            return False

        def use(name: str) -> None:
            self.keeper.name_run(run, name)
            self.output.show_runs(self.output.runs)

        use(name)
        label = f"the name {one_line(name, 40)}" if name else f"the name {one_line(before, 40)} taken away"
        self.changes.record(Change(label, lambda: use(before), lambda: use(name)))
        return True

    def _may_change(self, runs: Sequence[Run]) -> bool:
        problem = None
        if self.keeper.read_only:
            problem = BadValueError("The session is open to read only", hint="Nothing can be changed in it.")
        elif any(run.is_running for run in runs):
            problem = BadValueError("The run still streams", hint="Wait for its end, or stop it with Esc.")
        if problem is not None:
            self.notify(str(problem), title="Nothing was changed", severity="warning", markup=False)
        return problem is None
