"""The branch tree screen: the session's runs below the runs that they branched from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual import getters, on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import OptionList

from workbench.domain.choice import Choice
from workbench.domain.display import one_line, plural, token_text, visible
from workbench.domain.errors import BadValueError
from workbench.domain.prompt import prompt_to_editor
from workbench.domain.run import Run
from workbench.domain.run_choices import shown_choice
from workbench.domain.run_tree import branches, lineage, subtree, tree_lines
from workbench.tui.branches.row_listing import RowListing, end_of, figure_columns, fit_short, on_one_line
from workbench.tui.commands.command import Where
from workbench.tui.commands.keymap import key_of
from workbench.tui.commands.table import bindings_at
from workbench.tui.fixed_width import fit
from workbench.tui.flows import FlowContext, asks
from workbench.tui.popups.key_row import KeyRow
from workbench.tui.popups.question import LinePopup
from workbench.tui.popups.result_screen import ResultScreen
from workbench.workspace.run_state import figures_of, state_of
from workbench.workspace.workspace import Workspace

_CONTEXT, _TAKEN = 12, 14
"""The most cells of a row for the text before the branch point, and for the token taken there."""
_BEGINNING = 60
"""The most tokens of an answer in a row."""
_PASSAGE = 4000
"""The most characters of an answer in the passage."""


@dataclass(frozen=True, slots=True)
class BranchRow:
    """A run in the tree."""

    run: Run
    number: int
    """Its number in the session, from 1."""
    depth: int
    guides: str
    """The tree lines before it."""
    parent: Run | None
    """The run that it branched from; None if it has none, or if that is not in the session."""

    @property
    def parent_choice(self) -> Choice | None:
        """The parent's choice that it branched from."""
        own = self.run.parent
        return None if self.parent is None or own is None else self.parent.choices.get(own.choice)

    @property
    def context(self) -> str:
        """The end of the text before the branch point, or the prompt of a run that is not a branch."""
        own, choice = self.run.parent, self.parent_choice
        if choice is not None and own is not None and not own.is_rerun and own.token:
            return "".join(choice.texts(max(own.token - _BEGINNING, 0), own.token))
        return prompt_to_editor(self.run.request.prompt)

    @property
    def taken(self) -> str:
        """The text that replaced the parent's token; empty if none did."""
        return self.run.parent.alternative if self.run.parent is not None else ""


def rows_of_tree(runs: Sequence[Run]) -> list[BranchRow]:
    """Return a row for every run, with parents before their children."""
    numbers = {run.id: number for number, run in enumerate(runs, 1)}
    by_id = {run.id: run for run in runs}
    tree = list(branches(runs))
    lines = tree_lines([depth for depth, _ in tree])
    return [
        BranchRow(run, numbers[run.id], depth, line, by_id.get(run.parent.run) if run.parent else None)
        for (depth, run), line in zip(tree, lines, strict=True)
    ]


def branch_line(row: BranchRow, width: int) -> Content:
    """Return a run's row: tree lines, number, name, the text around the branch point, and figures."""
    figures = _figures(row.run, width)
    most = width // 4
    guides = row.guides if len(row.guides) <= most else f"…{row.guides[1 - most :]}"
    head = [(guides, "$text-muted"), (f"{row.number} ", "bold")]
    if row.run.name:
        head.append((f"{fit_short(one_line(row.run.name, 60), width // 6)} ", "bold $text-accent"))
    if len(row.run.choices) > 1:
        head.append((f"×{len(row.run.choices)} ", "$text-muted"))
    room = max(width - sum(cell_len(text) for text, _ in head) - cell_len(figures), 0)
    context = end_of(row.context, min(_CONTEXT, room // 3))
    taken = fit_short(token_text(row.taken), min(_TAKEN, room - cell_len(context))) if row.taken else ""
    left = max(room - cell_len(context) - cell_len(taken), 0)
    return Content.assemble(
        *head,
        (context, "$text-muted"),
        (taken, "bold underline"),
        fit(_beginning(row.run), left),
        (figures, "$text-muted"),
    )


def _beginning(run: Run) -> str:
    choice = shown_choice(run.ordered)
    if choice is None:
        return "" if run.error is None else one_line(run.error.title, 120)
    text = "".join(choice.texts(choice.echoed, choice.echoed + _BEGINNING))
    return on_one_line(text)


def _figures(run: Run, width: int) -> str:
    state = state_of(run, 0.0)
    word = f"{state.glyph} {'streaming' if run.is_running else state.word}"
    return figure_columns(shown_choice(run.ordered), word, width)


def branch_passage(row: BranchRow, runs: Sequence[Run]) -> Content:
    """Return all about a run: its ancestors, origin, figures, notes, and text around the branch point."""
    numbers = {run.id: number for number, run in enumerate(runs, 1)}
    run = row.run
    path = " › ".join(_titled(numbers[ancestor.id], ancestor) for ancestor in lineage(runs, run))
    facts = [
        figures_of(run),
        f"{one_line(run.model or run.request.model, 60)} @ {one_line(run.endpoint, 40)}",
    ]
    if run.preset:
        facts.append(one_line(run.preset, 40))
    parts = [Content.styled(path, "bold"), Content.styled(f"\n{_where(row, numbers)}", "$text-accent")]
    parts.append(Content.styled(f"\n{' · '.join(facts)}", "$text-muted"))
    parts += [Content.styled(f"\n! {one_line(note)}", "$text-warning") for note in run.notes]
    context, choice = row.context[-400:], shown_choice(run.ordered)
    answer = "" if choice is None else choice.text[_prompt_length(choice) :][:_PASSAGE]
    parts += [
        Content("\n\n"),
        Content.styled(visible(context), "$text-muted"),
        Content.styled(visible(row.taken), "bold underline"),
        Content(visible(answer)),
    ]
    return Content("").join(parts)


def _prompt_length(choice: Choice) -> int:
    """Return the number of characters of the echoed prompt."""
    return choice.start_of(choice.echoed) if choice.echoed < len(choice) else choice.length


def _titled(number: int, run: Run) -> str:
    return f"{number} {one_line(run.name, 40)}" if run.name else str(number)


def _where(row: BranchRow, numbers: dict[str, int]) -> str:
    """Describe where a run branched from its parent."""
    own = row.run.parent
    if own is None:
        return "independent run"
    parent = f"run {numbers[own.run]}" if row.parent is not None else "a run that is not in this session"
    if own.is_rerun:
        return f"re-run of {parent}"
    choice = f", choice {own.choice + 1}" if row.parent is not None and len(row.parent.choices) > 1 else ""
    if own.kind == "continue":
        return f"continues {parent}{choice}"
    instead = ""
    if (replaced := row.parent_choice) is not None and own.token < len(replaced):
        instead = f" in place of {token_text(replaced.text_of(own.token), replaced.raw_of(own.token))}"
    text = f"branched from {parent}{choice} at token {own.token + 1}"
    return f"{text} with {token_text(own.alternative)}{instead}" if own.alternative else text


_EVERY = 0.5
"""Seconds between updates of the runs that stream."""


class TreeScreen(ResultScreen[Run]):
    """Shows the tree; returns the run to go to, or None."""

    BINDINGS = bindings_at(Where.TREE)
    where = Where.TREE

    listing = getters.query_one(RowListing)

    def __init__(self, workspace: Workspace, current: Run | None) -> None:
        """`current` is the run to highlight first."""
        super().__init__()
        self._workspace = workspace
        self._wanted = current.id if current is not None else ""
        """The id of the run to highlight."""
        self._runs: tuple[Run, ...] = ()
        self.rows: Sequence[BranchRow] = ()
        """The rows of the tree."""
        self._growing: list[int] = []
        """Indices of the rows whose runs streamed at the last update."""

    def compose(self) -> ComposeResult:
        yield RowListing("Branches")
        yield KeyRow(self.where)

    def on_mount(self) -> None:
        """Start updating the runs that stream."""
        self.set_interval(_EVERY, self._follow)

    def _follow(self) -> None:
        if self.app.screen is not self:
            return
        if self._runs != tuple(self._workspace.runs):
            self.show_rows()
        for index in self._growing:
            self.listing.put_row(index, branch_line(self.rows[index], self.listing.row_width))
        self._growing = [index for index in self._growing if self.rows[index].run.is_running]

    @on(RowListing.RowsFitted)
    def show_rows(self) -> None:
        """Show the session's runs."""
        self._runs = tuple(self._workspace.runs)
        self.rows = rows_of_tree(self._runs)
        self._growing = [index for index, row in enumerate(self.rows) if row.run.is_running]
        lines = [branch_line(row, self.listing.row_width) for row in self.rows]
        children = sum(row.depth > 0 for row in self.rows)
        count = f"{plural(len(lines), 'run')}, {plural(children, 'branch')}"
        about = count if lines else "no runs yet"
        wanted = next(
            (index for index, row in enumerate(self.rows) if row.run.id == self._wanted), len(lines) - 1
        )
        self.listing.put_rows(lines, wanted, about)

    @on(RowListing.RowHighlighted)
    def _show_passage(self) -> None:
        if (row := self.highlighted) is not None:
            self._wanted = row.run.id
            self.listing.show_passage(branch_passage(row, self._runs))

    @property
    def highlighted(self) -> BranchRow | None:
        """The run under the cursor."""
        return None if self.listing.highlighted is None else self.rows[self.listing.highlighted]

    # --- navigation --------------------------------------------------------------------------------------

    def _go(self, run: Run | None) -> None:
        for index, row in enumerate(self.rows):
            if row.run is run:
                self.listing.options.highlighted = index

    def action_parent(self) -> None:
        """Go to the parent run."""
        if (row := self.highlighted) is not None:
            self._go(row.parent)

    def action_child(self) -> None:
        """Go to the run's first branch."""
        if (row := self.highlighted) is not None:
            self._go(next((child.run for child in self.rows if child.parent is row.run), None))

    @on(OptionList.OptionSelected)
    def _choose(self) -> None:
        if (row := self.highlighted) is not None:
            self.dismiss(row.run)

    # --- changes -----------------------------------------------------------------------------------------

    @asks
    async def action_name(self, flow: FlowContext) -> None:
        """Rename the run; an empty name removes it."""
        if (row := self.highlighted) is not None:
            name = await flow.ask(LinePopup(f"Name of run {row.number}", row.run.name, may_be_empty=True))
            if name is not None:
                self._workspace.runs.name(row.run, name)
                self.show_rows()

    def action_prune(self) -> None:
        """Remove the run and all its branches from the session."""
        if (row := self.highlighted) is None:
            return
        pruned = subtree([listed.run for listed in self.rows], row.run)
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
        self.notify(f"Pruned {name}{more}; {key_of(self.app, 'undo_prune')} restores it.", timeout=5)

    def action_undo(self) -> None:
        """Undo the last change."""
        self._workspace.undo()
        self.show_rows()

    def action_redo(self) -> None:
        """Redo what was undone last."""
        self._workspace.redo()
        self.show_rows()
