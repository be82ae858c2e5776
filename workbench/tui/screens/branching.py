"""What the main screen does with branches: sending them, showing their tree, naming and pruning them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import on

from workbench.domain.choice import Choice
from workbench.domain.display import one_line
from workbench.domain.errors import BadValueError
from workbench.domain.request import Request
from workbench.domain.run import Parent, Run
from workbench.domain.session import Draft
from workbench.runner.branching import Branch, branch_at, continue_after
from workbench.tui.changes import Change
from workbench.tui.screens.batching import BatchScreen
from workbench.tui.widgets.inspector import Inspector
from workbench.tui.widgets.output_pane import OutputPane


class BranchScreen(BatchScreen):
    """Sends what branches from a token, and looks after the runs of the session; all can be undone."""

    def ask_and_send(
        self, request: Request, parent: Parent | None = None, then: Callable[[Run], None] | None = None
    ) -> None:
        """Send a request; `then` is told its run once it is sent."""
        raise NotImplementedError

    def stop_sending(self, run: Run) -> None:
        """Stop a run where it streams."""
        raise NotImplementedError

    # --- branching ---------------------------------------------------------------------------------------

    @on(OutputPane.AlternativeTaken)
    def _take_alternative(self, event: OutputPane.AlternativeTaken) -> None:
        def send() -> None:
            branch = branch_at(event.run, event.choice, event.position, event.alternative)
            self._send_branch(branch, lambda run: self._note_branch(run, "the branch"))

        self.attempt(send)

    @on(Inspector.AlternativeChosen)
    def _take_row(self, event: Inspector.AlternativeChosen) -> None:
        self.output.take_alternative(event.position)

    @on(OutputPane.Continued)
    def _continue(self, event: OutputPane.Continued) -> None:
        def join_and_send() -> None:
            branch = continue_after(event.run, event.choice)

            def sent(run: Run) -> None:
                before = self.draft
                self.prompt.set_prompt(branch.prompt)
                self._note_branch(run, "the answer that joined the prompt", before)

            self._send_branch(branch, sent)

        self.attempt(join_and_send)

    def _send_branch(self, branch: Branch, sent: Callable[[Run], None]) -> None:
        request = Request(branch.prompt, self.asked_model, self.parameters.parameters)
        self.ask_and_send(request, branch.parent, sent)

    def _note_branch(self, run: Run, label: str, before: Draft | None = None) -> None:
        """Record a run that was sent, and what became of the draft with it, as one change."""
        after, order = self.draft, list(self.output.runs)
        self.keeper.noted = after

        def undo() -> None:
            self._leave_out([run])
            if before is not None:
                self._put_back(before)
            self._go_to_origin(run)

        def redo() -> None:
            self._take_in([run], order)
            if before is not None:
                self._put_back(after)

        self.keeper.changes.record(Change(label, undo, redo))

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
        order = list(self.output.runs)
        self._leave_out(runs)
        count = "a run" if len(runs) == 1 else f"{len(runs)} runs"
        self.keeper.changes.record(
            Change(f"pruning {count}", lambda: self._take_in(runs, order), lambda: self._leave_out(runs))
        )
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
        label = f"the name {one_line(name, 40)}" if name else f"without the name {one_line(before, 40)}"
        self.keeper.changes.record(Change(label, lambda: use(before), lambda: use(name)))
        return True

    def _may_change(self, runs: Sequence[Run]) -> bool:
        def check() -> None:
            if self.keeper.read_only:
                raise BadValueError("The session is open read-only", hint="Save a copy of it first.")
            if any(run.is_running for run in runs):
                raise BadValueError("The run still streams", hint="Wait for its end, or stop it with Esc.")

        try:
            check()
        except BadValueError as problem:
            self.notify(str(problem), title="Nothing was changed", severity="warning", markup=False)
            return False
        return True

    def _leave_out(self, runs: Sequence[Run]) -> None:
        ids = {run.id for run in runs}
        for run in runs:
            self.stop_sending(run)
        self.keeper.leave_out(runs)
        self.output.show_runs([run for run in self.output.runs if run.id not in ids])

    def _take_in(self, runs: Sequence[Run], order: Sequence[Run]) -> None:
        """Have runs again where they stood in an earlier order; what came since stays behind them."""
        self.keeper.take_in(runs)
        wanted = {run.id for run in (*runs, *self.output.runs)}
        known = {run.id: run for run in (*order, *self.output.runs)}
        self.output.show_runs([run for run in known.values() if run.id in wanted])

    # --- looking at them ---------------------------------------------------------------------------------

    @on(OutputPane.TreeAsked)
    def _show_tree(self, event: OutputPane.TreeAsked) -> None:
        # Most sessions have no branches, so the first paint need not wait for it.
        from workbench.tui.screens.tree import TreeScreen

        def chosen(run: Run | None) -> None:
            if run is not None:
                self.output.go_to(run)

        self.app.push_screen(TreeScreen(self, event.run), chosen)

    @on(OutputPane.ChoicesAsked)
    def _show_choices(self, event: OutputPane.ChoicesAsked) -> None:
        from workbench.tui.screens.choices import ChoicesScreen

        number = self.output.runs.index(event.run) + 1

        def show() -> None:
            if len(event.run.choices) < 2:
                raise BadValueError(f"Run {number} has one choice", hint="Set n in the panel to get several.")
            self.app.push_screen(ChoicesScreen(event.run, number, event.choice), chosen)

        def chosen(choice: Choice | None) -> None:
            if choice is not None:
                self.output.go_to(event.run, choice)

        self.attempt(show)
