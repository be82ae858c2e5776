"""The runs of a transcript as they are shown: those that were sent together are one block, folded or not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from workbench.domain.run import Outcome, Run
from workbench.domain.run_group import RunGroup, groups_of
from workbench.tui.tokens.blocks import group_section, sections_of
from workbench.tui.tokens.transcript import Section
from workbench.workspace.runs import SelectedToken


class RunBlocks:
    """The runs of a session in order; a block stands where its newest run does, and begins folded."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.current: RunGroup | None = None
        """The block that the keys are on; None where they are on a token, or nowhere."""
        self._groups: dict[str, RunGroup] = {}
        self._alone: dict[str, Run] = {}
        """The only run so far of each other group."""
        self._index_of: dict[str, int] = {}
        self._unfolded: set[str] = set()

    def show(self, runs: Sequence[Run]) -> None:
        """Hold these runs and no others; what was unfolded stays so."""
        self.runs = list(runs)
        self._index_of = {run.id: index for index, run in enumerate(runs)}
        self._groups = groups_of(runs)
        self._alone = {run.group: run for run in runs if run.group and run.group not in self._groups}
        self.current = self._groups.get(self.current.id) if self.current is not None else None

    def add(self, run: Run) -> bool:
        """Add a run; whether all that stood there stays where it is."""
        follows = bool(self.runs) and self.runs[-1].group == run.group
        self._index_of[run.id] = len(self.runs)
        self.runs.append(run)
        if not run.group:
            return True
        if (group := self._groups.get(run.group)) is not None:
            group.add(run)
            return follows
        if (first := self._alone.pop(run.group, None)) is not None:
            self._groups[run.group] = RunGroup(run.group, (first, run))
            return False
        self._alone[run.group] = run
        return True

    def __contains__(self, run: Run) -> bool:
        return run.id in self._index_of

    def group_of(self, run: Run) -> RunGroup | None:
        """The block of a run; None where it is in none."""
        return self._groups.get(run.group)

    def is_folded(self, group: RunGroup) -> bool:
        """Whether only the header of a block is shown."""
        return group.id not in self._unfolded

    def is_hidden(self, run: Run) -> bool:
        """Whether a run is in a block that is folded."""
        group = self.group_of(run)
        return group is not None and self.is_folded(group)

    def fold(self, group: RunGroup, folded: bool) -> None:
        """Show only the header of a block, or its runs too."""
        (self._unfolded.discard if folded else self._unfolded.add)(group.id)

    def entries(self) -> Iterator[Run | RunGroup]:
        """What stands below each other: runs, and blocks before those of their runs that are shown."""
        for run in self.runs:
            group = self.group_of(run)
            if group is None:
                yield run
            elif group.runs[-1] is run:
                yield group
                if not self.is_folded(group):
                    yield from group.runs

    def sections_of(self, run: Run, dimmed: bool = False) -> list[Section]:
        """The sections of a run, which say how it differs from the run shown before it; none while hidden."""
        if self.is_hidden(run):
            return []
        index = self._index_of[run.id]
        before = index - 1
        while before >= 0 and self.is_hidden(self.runs[before]):
            before -= 1
        return sections_of(self.runs, index, dimmed, before=before)

    def newest_answer(self, *, dimmed: bool = False) -> list[Section]:
        """The sections of the newest run that has tokens; dimmed, of the newest that did not fail."""
        for run in reversed(self.runs):
            if run.tokens and (not dimmed or run.outcome is not Outcome.ERROR):
                return self.sections_of(run, dimmed)
        return []

    def token_at(self, key: str, position: int) -> SelectedToken | None:
        """The token at a position of a section; None where it is no longer there."""
        id, _, index = key.partition(":")
        if (run_index := self._index_of.get(id)) is None:
            return None
        run = self.runs[run_index]
        choice = run.choices.get(int(index))
        return None if choice is None or position >= len(choice) else SelectedToken(run, choice, position)

    def header_of(self, group: RunGroup) -> Section:
        """The header of a block."""
        numbers = "–".join(f"{self._index_of[run.id] + 1}" for run in (group.runs[0], group.runs[-1]))
        return group_section(group, numbers, folded=self.is_folded(group), is_current=group is self.current)

    def sections(self, shown: Iterable[Section] = ()) -> list[Section]:
        """All sections; those of runs that are `shown` already are not made again."""
        known: dict[str, list[Section]] = {}
        for section in shown:
            known.setdefault(section.key.partition(":")[0], []).append(section)
        sections: list[Section] = []
        for entry in self.entries():
            if isinstance(entry, RunGroup):
                sections.append(self.header_of(entry))
            else:
                sections += known.get(entry.id) or self.sections_of(entry)
        return sections
