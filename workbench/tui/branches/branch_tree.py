"""The branch tree: a session's runs by where they leave each other, to walk, name and prune."""

from __future__ import annotations

from collections.abc import Sequence

from textual import getters, on
from textual.app import ComposeResult
from textual.widgets import OptionList

from workbench.domain.display import one_line
from workbench.domain.errors import BadValueError
from workbench.domain.run import Run
from workbench.domain.session import subtree
from workbench.tui.branches.branch_rows import BranchRow, branch_line, branch_passage, rows_of_tree
from workbench.tui.branches.row_listing import RowListing
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.flows import FlowContext, asks
from workbench.tui.popups.key_row import KeyRow
from workbench.tui.popups.line_popup import LinePopup
from workbench.tui.popups.result_screen import ResultScreen
from workbench.workspace.workspace import Workspace

_EVERY = 0.5
"""Seconds from one showing of what streams to the next."""


class TreeScreen(ResultScreen[Run]):
    """Shows the tree; answers with the run to go to, or None."""

    BINDINGS = bindings_at(Where.TREE)
    where = Where.TREE

    listing = getters.query_one(RowListing)

    def __init__(self, workspace: Workspace, current: Run | None) -> None:
        """`current` is the run to begin at."""
        super().__init__()
        self._workspace = workspace
        self._wanted = current.id if current is not None else ""
        self._runs: tuple[Run, ...] = ()
        self.rows: Sequence[BranchRow] = ()
        """The tree as the list shows it."""
        self._growing: list[int] = []
        """Places of the rows whose runs stream."""

    def compose(self) -> ComposeResult:
        yield RowListing("Branches")
        yield KeyRow(self.where)

    def on_mount(self) -> None:
        """Show what streams as it grows."""
        self.set_interval(_EVERY, self._follow)

    def _follow(self) -> None:
        if self.app.screen is not self:
            return
        if self._runs != tuple(self._workspace.runs):
            self.show_rows()
        for place in self._growing:
            self.listing.put_row(place, branch_line(self.rows[place], self.listing.row_width))
        self._growing = [place for place in self._growing if self.rows[place].run.is_running]

    @on(RowListing.RowsFitted)
    def show_rows(self) -> None:
        """Show the runs as they are now."""
        self._runs = tuple(self._workspace.runs)
        self.rows = rows_of_tree(self._runs)
        self._growing = [place for place, row in enumerate(self.rows) if row.run.is_running]
        places = [place for place, row in enumerate(self.rows) if row.run.id == self._wanted]
        lines = [branch_line(row, self.listing.row_width) for row in self.rows]
        roots = sum(row.depth == 0 for row in self.rows)
        count = f"{len(lines)} run{'s' * (len(lines) != 1)}"
        words = f"{count}, {len(lines) - roots} of them branches" if lines else "no runs yet"
        self.listing.put_rows(lines, places[0] if places else len(lines) - 1, words)

    @on(RowListing.RowHighlighted)
    def _show_passage(self) -> None:
        """Show the run's text around the place where it diverges, and all its figures."""
        if (row := self.highlighted) is not None:
            self._wanted = row.run.id
            self.listing.show_passage(branch_passage(row, self._runs))

    @property
    def highlighted(self) -> BranchRow | None:
        """The run under the cursor."""
        return None if self.listing.place is None else self.rows[self.listing.place]

    # --- walking -----------------------------------------------------------------------------------------

    def _go(self, run: Run | None) -> None:
        for place, row in enumerate(self.rows):
            if row.run is run:
                self.listing.options.highlighted = place

    def action_parent(self) -> None:
        """Go to the run that this one branched from."""
        if (row := self.highlighted) is not None:
            self._go(row.parent)

    def action_child(self) -> None:
        """Go to the first branch of this run."""
        if (row := self.highlighted) is not None:
            self._go(next((one.run for one in self.rows if one.parent is row.run), None))

    @on(OptionList.OptionSelected)
    def _choose(self) -> None:
        if (row := self.highlighted) is not None:
            self.dismiss(row.run)

    # --- changing ----------------------------------------------------------------------------------------

    @asks
    async def action_name(self, flow: FlowContext) -> None:
        """Give the run another name; an empty one takes it away."""
        if (row := self.highlighted) is not None:
            name = await flow.ask(LinePopup(f"Name of run {row.number}", row.run.name, may_be_empty=True))
            if name is not None:
                self._workspace.runs.name(row.run, name)
                self.show_rows()

    def action_prune(self) -> None:
        """Take the run and all its branches out of the session."""
        if (row := self.highlighted) is None:
            return
        pruned = subtree([one.run for one in self.rows], row.run)
        label = "the pruned run" if len(pruned) == 1 else f"the {len(pruned)} pruned runs"
        try:
            self._workspace.runs.remove(pruned, label)
        except BadValueError as problem:
            self.notify(str(problem), title="Nothing was changed", severity="warning")
            return
        above = self.rows[max(self.rows.index(row) - 1, 0)].run
        self._wanted = (row.parent or above).id
        self.show_rows()
        name = one_line(row.run.name, 40) or f"run {row.number}"
        more = f" and {len(pruned) - 1} more" if len(pruned) > 1 else ""
        self.notify(f"Pruned {name}{more}; u restores it.", timeout=5)

    def action_undo(self) -> None:
        """Take the last change back, whichever it was."""
        self._workspace.undo()
        self.show_rows()

    def action_redo(self) -> None:
        """Redo what was undone."""
        self._workspace.redo()
        self.show_rows()
