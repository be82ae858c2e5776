"""The runs of the transcript, with runs that were sent together in a foldable group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from workbench.domain.run import Outcome, Run
from workbench.domain.run_group import RunGroup, groups_of
from workbench.tui.tokens.run_sections import group_section, sections_of
from workbench.tui.tokens.transcript import Section
from workbench.workspace.runs import SelectedToken


class RunBlocks:
    """The runs of a session in order; a group is shown in place of its newest run, folded at first."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.current: RunGroup | None = None
        """The selected group; None if a token is selected, or nothing."""
        self._groups: dict[str, RunGroup] = {}
        self._index_of: dict[str, int] = {}
        self._unfolded: set[str] = set()

    def show(self, runs: Sequence[Run]) -> None:
        """Replace all runs; unfolded groups stay unfolded."""
        self.runs = list(runs)
        self._index_of = {run.id: index for index, run in enumerate(runs)}
        self._groups = groups_of(runs)
        self.current = self._groups.get(self.current.id) if self.current is not None else None

    def add(self, run: Run) -> bool:
        """Append a run; return whether the sections before it stay the same."""
        follows = bool(self.runs) and self.runs[-1].group == run.group
        self._index_of[run.id] = len(self.runs)
        self.runs.append(run)
        if not run.group:
            return True
        if (group := self._groups.get(run.group)) is not None:
            group.add(run)
            return follows
        first = next(other for other in self.runs if other.group == run.group)
        if first is run:
            return True
        self._groups[run.group] = RunGroup(run.group, (first, run))
        return False

    def __contains__(self, run: Run) -> bool:
        return run.id in self._index_of

    def group_of(self, run: Run) -> RunGroup | None:
        """Return the group of a run, or None."""
        return self._groups.get(run.group)

    def is_folded(self, group: RunGroup) -> bool:
        """Return whether only the header of a group is shown."""
        return group.id not in self._unfolded

    def is_hidden(self, run: Run) -> bool:
        """Return whether a run is in a folded group."""
        group = self.group_of(run)
        return group is not None and self.is_folded(group)

    def fold(self, group: RunGroup, folded: bool) -> None:
        """Fold or unfold a group."""
        (self._unfolded.discard if folded else self._unfolded.add)(group.id)

    def entries(self) -> Iterator[Run | RunGroup]:
        """Yield what is shown, top to bottom: runs, and groups before their unfolded runs."""
        for run in self.runs:
            group = self.group_of(run)
            if group is None:
                yield run
            elif group.runs[-1] is run:
                yield group
                if not self.is_folded(group):
                    yield from group.runs

    def sections_of(self, run: Run, dimmed: bool = False) -> list[Section]:
        """Return the sections of a run, titled by its changes to the run shown before it; none if hidden."""
        if self.is_hidden(run):
            return []
        index = self._index_of[run.id]
        before = index - 1
        while before >= 0 and self.is_hidden(self.runs[before]):
            before -= 1
        return sections_of(self.runs, index, dimmed, before=before)

    def newest_answer(self, *, dimmed: bool = False) -> list[Section]:
        """Return the sections of the newest run with tokens; if `dimmed`, of the newest that did not fail."""
        for run in reversed(self.runs):
            if run.tokens and (not dimmed or run.outcome is not Outcome.ERROR):
                return self.sections_of(run, dimmed)
        return []

    def token_at(self, key: str, position: int) -> SelectedToken | None:
        """Return the token at a position of a section; None if it no longer exists."""
        id, _, index = key.partition(":")
        if (run_index := self._index_of.get(id)) is None:
            return None
        run = self.runs[run_index]
        choice = run.choices.get(int(index))
        return None if choice is None or position >= len(choice) else SelectedToken(run, choice, position)

    def header_of(self, group: RunGroup) -> Section:
        """Return the header section of a group."""
        numbers = "–".join(f"{self._index_of[run.id] + 1}" for run in (group.runs[0], group.runs[-1]))
        return group_section(group, numbers, folded=self.is_folded(group), is_current=group is self.current)

    def sections(self, shown: Iterable[Section] = ()) -> list[Section]:
        """Return all sections; those of runs already `shown` are reused."""
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
