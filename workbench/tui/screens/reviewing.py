"""What the main screen does with a run that is over: playing it again, and sending it again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from textual import on

from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.run import Run
from workbench.storage.endpoints import endpoint_for
from workbench.tui.notes import probe_notes
from workbench.tui.screens.undoing import UndoScreen
from workbench.tui.widgets.output_pane import OutputPane
from workbench.tui.widgets.prompt_editor import PromptEditor

if TYPE_CHECKING:
    from workbench.runner.curl import CurlDraft
    from workbench.tui.screens.compare import Adopted
    from workbench.tui.screens.comparing_saved import Compared


class ReviewScreen(UndoScreen):
    """Opens the replay of a run, and its comparison with the same request sent again."""

    @on(OutputPane.ReplayAsked)
    def _replay(self, event: OutputPane.ReplayAsked) -> None:
        # Most sessions replay nothing, so the first paint need not wait for it.
        from workbench.tui.screens.replay import ReplayScreen

        def play() -> None:
            self._refuse_what_streams(event.run)
            if not event.run.tokens:
                raise BadValueError("The run holds no tokens", hint="There is nothing to play.")
            number = self.output.runs.index(event.run) + 1
            self.app.push_screen(
                ReplayScreen(event.run, self._token_styles, number=number, mode=self.output.view.mode)
            )

        self.attempt(play)

    @on(OutputPane.RerunAsked)
    def _rerun(self, event: OutputPane.RerunAsked) -> None:
        from workbench.tui.screens.question import Question

        def ask() -> None:
            if self.is_streaming:
                raise BadValueError("Something streams already", hint="Stop it with Esc, then run it again.")
            self._refuse_what_streams(event.run)
            endpoint = self._endpoint_of(event.run)
            limit, billed = self.services.config.confirm_above, event.run.request.billed_tokens

            def answered(yes: bool | None) -> None:
                if yes:
                    self._send_again(event.run, endpoint)

            if not limit or billed <= limit:
                answered(True)
            else:
                cost = f"This may generate and bill up to {billed:,} tokens."
                self.app.push_screen(Question(cost, "send", "do not send"), answered)

        self.attempt(ask)

    def _send_again(self, recorded: Run, endpoint: Endpoint) -> None:
        from workbench.tui.rerunning import Rerun
        from workbench.tui.screens.rerun import RerunScreen

        rerun = Rerun(self.services, endpoint, recorded, self._compared)
        self._compare_opened(rerun)
        self.keeper.began(rerun.again)

        def closed(adopted: Adopted | None) -> None:
            if adopted is not None:
                self.adopt(adopted)

        self.app.push_screen(RerunScreen(rerun, self._token_styles), closed)

    @on(OutputPane.CompareAsked)
    def _compare_runs(self, event: OutputPane.CompareAsked) -> None:
        from workbench.tui.screens.comparing_saved import compare_runs

        compare_runs(self._saved_runs(), event.run)

    def _saved_runs(self) -> Compared:
        from workbench.tui.screens.comparing_saved import Compared

        return Compared(
            self.app, self.services, self._token_styles, self.output.runs, self.keeper.path, self.adopt
        )

    @on(UndoScreen.SessionCompared)
    def _compare_session(self, event: UndoScreen.SessionCompared) -> None:
        from workbench.tui.screens.comparing_saved import compare_with

        compare_with(self._saved_runs(), event.path)

    @on(OutputPane.WireAsked)
    def _show_wire(self) -> None:
        # Most sessions look at no bytes, so the first paint need not wait for it.
        from workbench.tui.screens.wire import open_wire

        open_wire(self.app, self.services.exchange, self.output)

    def action_paste_curl(self) -> None:
        """Take prompt and parameters from a curl command."""
        from workbench.storage.imports import is_curl
        from workbench.tui.screens.curl import ask_for_curl

        text = self.prompt.text if is_curl(self.prompt.text) else ""
        ask_for_curl(self.app, self._read_curl, text, self._take_curl)

    @on(PromptEditor.CurlPasted)
    def _offer_curl(self, event: PromptEditor.CurlPasted) -> None:
        from workbench.tui.screens.curl import offer_curl

        offer_curl(self.app, self._read_curl, event.text, self._take_curl)

    def _read_curl(self, text: str) -> CurlDraft:
        from workbench.runner.curl import draft_from_curl

        return draft_from_curl(text, self.services.endpoints)

    def _take_curl(self, taken: CurlDraft) -> None:
        with self.changing("the curl command"):
            self._show_parts(taken.draft)
        self.notify("\n".join((*taken.notes, "Undo takes it back.")), title="curl", markup=False, timeout=8)

    def _endpoint_of(self, run: Run) -> Endpoint:
        if run.endpoint == self.endpoint.name:
            return self.endpoint
        return endpoint_for(run.endpoint, None, self.services.endpoints)

    def action_export(self) -> None:
        """Write the session, or the run under the cursor, in a form that others read."""
        # Most sessions are never exported, so the first paint need not wait for it.
        from workbench.tui.screens.exporting import export

        def begin() -> None:
            over = [run for run in self.output.runs if not run.is_running]
            if not over:
                raise BadValueError("The session holds no run that is over", hint="Run something first.")
            found = self.output.token
            run = over[-1] if found is None or found[0] not in over else found[0]
            export(self.app, replace(self.keeper.session, runs=over), run, self.keeper.path)

        self.attempt(begin)

    def _refuse_what_streams(self, run: Run) -> None:
        if run.is_running:
            raise BadValueError("The run still streams", hint="Wait for its end, or stop it with Esc.")

    def action_probe(self) -> None:
        """Find out what the endpoint honours; says first what it would send."""
        # Most sessions probe nothing, so the first paint need not wait for it.
        from workbench.tui.screens.probe import Probed, ProbeScreen

        def found() -> None:
            self.parameters.set_notes(probe_notes(self.services.folders, self.endpoint.name))

        self.app.push_screen(ProbeScreen(Probed(self.services, self.endpoint, self.asked_model, found)))
