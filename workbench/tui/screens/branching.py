"""What the main screen does with branches: sending them, showing their tree, naming and pruning them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from textual import on

from workbench.domain.choice import Choice
from workbench.domain.display import one_line
from workbench.domain.errors import BadValueError, WorkbenchError
from workbench.domain.prompt import TextPrompt, TokensPrompt
from workbench.domain.request import Request
from workbench.domain.run import Failure, Run
from workbench.domain.session import Draft
from workbench.runner.branching import Branch, Origin, branch_from, end_of, origin_of
from workbench.tui.screens.batching import BatchScreen
from workbench.tui.services import Services
from workbench.tui.token_styles import TokenStyles
from workbench.tui.widgets.inspector import Inspector
from workbench.tui.widgets.output_pane import OutputPane
from workbench.workspace.history import Change


class BranchScreen(BatchScreen):
    """Sends what branches from a token, and looks after the runs of the session; all can be undone."""

    def __init__(self, services: Services, styles: TokenStyles, session: Path | None = None) -> None:
        super().__init__(services, styles, session)
        self.sends_ids = services.config.branch_ids
        """Whether branches are sent as token ids also where the prompt was text."""
        self._taken_back: set[str] = set()
        """Ids of runs that were taken back while they streamed."""

    def ask_and_send(
        self, request: Request, branch: Branch | None = None, then: Callable[[Run], None] | None = None
    ) -> None:
        """Send a request; `then` is told its run once it is sent."""
        raise NotImplementedError

    def stop_sending(self, run: Run) -> None:
        """Stop a run where it streams."""
        raise NotImplementedError

    # --- branching ---------------------------------------------------------------------------------------

    @on(OutputPane.AlternativeTaken)
    def _take_alternative(self, event: OutputPane.AlternativeTaken) -> None:
        origin = origin_of(event.run, event.choice, event.position, event.alternative)
        self.attempt(lambda: self.send_branch(origin))

    @on(Inspector.AlternativeChosen)
    def _take_row(self, event: Inspector.AlternativeChosen) -> None:
        self.output.take_alternative(event.position)

    def send_branch(self, origin: Origin) -> None:
        """Send a branch under the panel's parameters; undo takes its run out of the session.

        Raises BadValueError for a value that the endpoint would refuse.
        """
        self._go_on(origin, lambda run: self._note_branch(run, "the branch"))

    @on(OutputPane.Continued)
    def _continue(self, event: OutputPane.Continued) -> None:
        origin = end_of(event.run, event.choice)

        def sent(run: Run) -> None:
            before = self.draft
            is_text = isinstance(origin.prompt, TextPrompt)
            self.prompt.set_prompt(branch_from(origin).prompt if is_text else run.request.prompt)
            self._note_branch(run, "the answer that joined the prompt", before)

        self.attempt(lambda: self._go_on(origin, sent))

    def _go_on(self, origin: Origin, sent: Callable[[Run], None]) -> None:
        place = self.endpoint
        if self.sends_ids and not place.sends_ids:
            hint = "Choose another endpoint, or send branches as text."
            raise BadValueError(f"{one_line(place.name, 40)} takes no token ids", hint=hint, field="prompt")
        lacks_ids = any(one.id is None for one in origin.generated)
        if self.sends_ids or (isinstance(origin.prompt, TokensPrompt) and lacks_ids and place.tokenizer):
            self.run_worker(self._send_ids(origin, sent), group="branch", exclusive=True)
        else:
            self._send_branch(branch_from(origin), sent)

    async def _send_ids(self, origin: Origin, sent: Callable[[Run], None]) -> None:
        # Most branches are text, and the client's imports are paid for with the first request.
        from workbench.runner.joints import tokenizer_of, with_token_ids

        tokenize = tokenizer_of(self.services.connections, self.endpoint)
        try:
            branch = await with_token_ids(origin, tokenize)
        except WorkbenchError as problem:
            self.output.fail(Failure.of(problem), "nothing was sent", was_sent=False)
            return
        self.attempt(lambda: self._send_branch(branch, sent))

    def _send_branch(self, branch: Branch, sent: Callable[[Run], None]) -> None:
        request = Request(branch.prompt, self.asked_model, self.parameters.parameters)
        self.ask_and_send(request, branch, sent)

    def action_branch_ids(self) -> None:
        """Send branches as token ids from now on, or as text again."""
        self.sends_ids = not self.sends_ids
        words = "token ids, so that every token stays as it was" if self.sends_ids else "text"
        self.notify(f"Branches are sent as {words}.", markup=False, timeout=4)

    def _note_branch(self, run: Run, label: str, before: Draft | None = None) -> None:
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
