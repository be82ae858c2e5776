"""Sessions: the draft in the editor and the panel, and all runs."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import takewhile
from types import MappingProxyType
from typing import NamedTuple

from workbench.domain.conversation import Chat
from workbench.domain.prompt import PromptKind
from workbench.domain.request import Parameters
from workbench.domain.run import Run


class Draft(NamedTuple):
    """The contents of the editor and the panel."""

    endpoint: str = ""
    """Name of the endpoint."""
    model: str = ""
    preset: str = ""
    """Name of the preset that the parameters were taken from."""
    prompt: str = ""
    """The editor's exact text, which may not be a valid prompt of its kind."""
    kind: PromptKind = PromptKind.TEXT
    parameters: Parameters = Parameters()
    turn: str = ""
    """The text in the conversation's composer."""
    other: Mapping[str, object] = MappingProxyType({})
    """Session file keys unknown to this version, kept unchanged."""


@dataclass(slots=True)
class Session:
    """The contents of a session file."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    title: str = ""
    """Name given by the user, or empty."""
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    tags: tuple[str, ...] = ()
    draft: Draft = field(default_factory=Draft)
    runs: list[Run] = field(default_factory=list)
    """In the order in which they ended; runs sent together are in the order requested."""
    chat: Chat = field(default_factory=Chat)
    variables: Mapping[str, str] = field(default_factory=dict)
    """Values of the prompt's variables by name."""
    other: Mapping[str, object] = field(default_factory=dict)
    """Session file keys unknown to this version, kept unchanged."""

    def run(self, run_id: str) -> Run | None:
        """Return the run with an id, or None."""
        return next((run for run in self.runs if run.id == run_id), None)


def in_order(runs: Sequence[Run], ids: Sequence[str]) -> list[Run]:
    """Reorder the runs named by `ids` among the positions that they occupy."""
    wanted = frozenset(ids)
    named = {run.id: run for run in runs if run.id in wanted}
    ordered = iter([named[id] for id in ids if id in named])
    return [next(ordered) if run.id in named else run for run in runs]


def branches(runs: Sequence[Run]) -> Iterator[tuple[int, Run]]:
    """Yield each run once with its depth in the branch tree, parents before children.

    A run whose parent is missing is a root; so is the first run of a cycle, as found in a damaged file.
    """
    known = {run.id for run in runs}
    children: dict[str, list[Run]] = {}
    roots: list[Run] = []
    for run in runs:
        if run.parent is not None and run.parent.run in known:
            children.setdefault(run.parent.run, []).append(run)
        else:
            roots.append(run)
    seen: set[str] = set()
    for first in (*roots, *runs):
        waiting = [(0, first)]
        while waiting:
            depth, run = waiting.pop()
            if run.id not in seen:
                seen.add(run.id)
                yield depth, run
                waiting.extend((depth + 1, child) for child in reversed(children.get(run.id, ())))


def tree_lines(depths: Sequence[int]) -> list[str]:
    """Return the connecting lines (`│ └─`) of each row of a tree; parents come before children."""
    lines: list[str] = []
    going_on: set[int] = set()
    for depth in reversed(depths):
        above = "".join("│ " if level in going_on else "  " for level in range(1, depth))
        lines.append(above + ("├─" if depth in going_on else "└─") if depth else "")
        going_on = {level for level in going_on if level < depth} | {depth}
    return lines[::-1]


def subtree(runs: Sequence[Run], root: Run) -> list[Run]:
    """Return a run and all its descendants, parents before children."""
    tree = iter(branches(runs))
    depth = next((depth for depth, run in tree if run is root), None)
    if depth is None:
        return []
    return [root, *(run for _, run in takewhile(lambda branch: branch[0] > depth, tree))]


def lineage(runs: Sequence[Run], run: Run) -> list[Run]:
    """Return the ancestors of a run, oldest first, and the run itself."""
    # A damaged file may hold a cycle: `pop` visits each run only once.
    by_id = {other.id: other for other in runs if other is not run}
    line = [run]
    while (parent := line[-1].parent) is not None and (before := by_id.pop(parent.run, None)) is not None:
        line.append(before)
    return line[::-1]
