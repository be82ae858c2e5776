"""What the main screen does with changes: noting what becomes of the draft, undoing and redoing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from textual import events, on

from workbench.domain.display import one_line
from workbench.domain.errors import BadValueError
from workbench.domain.run import Run
from workbench.domain.session import Draft
from workbench.storage.endpoints import endpoint_for
from workbench.tui.screens.presetting import PresetScreen
from workbench.tui.widgets.output_pane import OutputPane
from workbench.tui.widgets.parameter_panel import ParameterPanel
from workbench.workspace.history import Change

_LABEL = 60
"""Cells of a change's name."""


@dataclass(frozen=True, slots=True)
class DraftChange(Change):
    """A change of what editor and panel hold."""

    before: Draft
    after: Draft


class UndoScreen(PresetScreen):
    """Takes back what was done to the session, whichever pane it was done in.

    The draft is compared with what it was whenever a person has come to the end of something: on leaving
    the editor, on setting a parameter, on coming back from a screen. Only parts that differ are put back.
    """

    def note_draft(self, label: str = "") -> None:
        """Record what became of the draft since the last change as one, named by its parts if not here."""
        before, after = self.noted, self.draft
        if before == after:
            return
        changes = self.changes
        last = changes.done[-1] if changes.done else None
        self.noted = after
        if isinstance(last, DraftChange) and (last.before, last.after) == (after, before):
            # The editor's own undo took it back already.
            changes.undo()
            return
        changes.record(
            DraftChange(
                label or _difference(before, after),
                lambda: self._put_back(before),
                lambda: self._put_back(after),
                before,
                after,
            )
        )

    @contextmanager
    def changing(self, label: str) -> Iterator[None]:
        """Record what the block does to the draft as one change; what was typed before is one of its own."""
        self.note_draft()
        yield
        self.note_draft(label)

    def take_draft(self, draft: Draft, label: str) -> None:
        """Show another draft, as a change of that name."""
        with self.changing(label):
            self._show_parts(draft)

    @on(events.DescendantBlur)
    @on(events.ScreenResume)
    @on(ParameterPanel.Changed)
    def _note_what_was_done(self) -> None:
        if self._keeping is not None:
            self.note_draft()

    # --- runs --------------------------------------------------------------------------------------------

    def remove_runs(self, runs: Sequence[Run], label: str) -> None:
        """Take runs that are over out of the session, as one change of that name."""
        was, gone = self.output.runs, {run.id for run in runs}
        places = [place for place, run in enumerate(was) if run.id in gone]
        followed = [(was[place], was[place + 1] if place + 1 < len(was) else None) for place in places]

        def take_out() -> None:
            for run, _ in followed:
                self.keeper.remove(run)
            self.output.show_runs([run for run in self.output.runs if run.id not in gone])

        def put_back() -> None:
            shown = list(self.output.runs)
            # The last one first, as each is put before the one that followed it.
            for run, following in reversed(followed):
                self.keeper.restore(run, following)
                shown.insert(shown.index(following) if following in shown else len(shown), run)
            self.output.show_runs(shown)

        self.note_draft()
        take_out()
        self.changes.record(Change(label, put_back, take_out))

    @on(OutputPane.DeletionAsked)
    def _delete_run(self, event: OutputPane.DeletionAsked) -> None:
        def delete() -> None:
            if event.run.is_running:
                raise BadValueError("The run still streams", hint="Wait for its end, or stop it with Esc.")
            if self.keeper.read_only:
                raise BadValueError("The session is open to read only", hint="Nothing can be deleted of it.")
            label = f"the deletion of run {self.output.runs.index(event.run) + 1}"
            self.remove_runs([event.run], label)
            self.notify("The run is deleted; u brings it back.", markup=False, timeout=3)

        self.attempt(delete)

    # --- back and forth ----------------------------------------------------------------------------------

    def action_undo(self) -> None:
        """Take back the newest change."""
        self.note_draft()
        change = self.changes.undo()
        self._tell_change("Taken back", change)

    def action_redo(self) -> None:
        """Make the change last taken back again."""
        self.note_draft()
        change = self.changes.redo()
        self._tell_change("Made again", change)

    def _tell_change(self, what: str, change: Change | None) -> None:
        words = f"There is nothing to {'take back' if what == 'Taken back' else 'make again'}."
        if change is not None:
            words = f"{what}: {change.label}"
        self.notify(words, markup=False, timeout=3)

    def _put_back(self, wanted: Draft) -> None:
        self.attempt(lambda: self._show_parts(wanted))
        self.noted = self.draft

    def _show_parts(self, wanted: Draft) -> None:
        now = self.draft
        if (wanted.kind, wanted.prompt) != (now.kind, now.prompt):
            self.prompt.put_back(wanted.kind, wanted.prompt)
        if (wanted.parameters, wanted.preset) != (now.parameters, now.preset):
            preset = self._preset_named(wanted.preset, wanted.parameters)
            self.show_parameters(wanted.parameters, preset)
        if wanted.endpoint != now.endpoint:
            self.use_endpoint(endpoint_for(wanted.endpoint, None, self.services.endpoints))
        if wanted.model != self.model:
            self.use_model(wanted.model)


def _difference(before: Draft, after: Draft) -> str:
    """What differs between two drafts, on one line."""
    parts = ["the prompt"] * (before.prompt != after.prompt)
    parts += [f"the prompt as {after.kind}"] * (before.kind is not after.kind)
    parts += [f"preset {after.preset or 'none'}"] * (before.preset != after.preset)
    parts += [str(change) for change in before.parameters.changes_to(after.parameters)]
    parts += ["extra"] * (before.parameters.extra != after.parameters.extra)
    parts += [f"endpoint {after.endpoint}"] * (before.endpoint != after.endpoint)
    parts += [f"model {after.model or 'the endpoint’s own'}"] * (before.model != after.model)
    return one_line(" · ".join(parts), _LABEL)
