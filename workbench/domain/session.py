"""A session: what the editor and the panel hold, and every run made from it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import takewhile

from workbench.domain.conversation import Chat
from workbench.domain.prompt import PromptKind
from workbench.domain.request import Parameters
from workbench.domain.run import Run


@dataclass(frozen=True, slots=True)
class Draft:
    """What is being worked on and was not sent yet."""

    endpoint: str = ""
    """Name of the endpoint."""
    model: str = ""
    preset: str = ""
    """Name of the preset that the parameters began as."""
    prompt: str = ""
    """The editor's text, exactly, whether or not it is a valid prompt of its kind."""
    kind: PromptKind = PromptKind.TEXT
    parameters: Parameters = field(default_factory=Parameters)
    turn: str = ""
    """What the composer of the conversation holds."""
    other: Mapping[str, object] = field(default_factory=dict)
    """Keys of a session file that this version does not know; kept as they are."""


@dataclass(slots=True)
class Session:
    """A draft and its runs, as one file keeps them."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    title: str = ""
    """The name a person gave it; empty where none did."""
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    tags: tuple[str, ...] = ()
    draft: Draft = field(default_factory=Draft)
    runs: list[Run] = field(default_factory=list)
    """In the order in which they ended; those that were sent together in the order they were asked for."""
    chat: Chat = field(default_factory=Chat)
    """Its conversation."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Values of the prompt's variables by name."""
    other: Mapping[str, object] = field(default_factory=dict)
    """Keys of the file that this version does not know; kept as they are."""

    def run(self, run_id: str) -> Run | None:
        """The run with an id, or None."""
        return next((run for run in self.runs if run.id == run_id), None)


def in_order(runs: Sequence[Run], ids: Sequence[str]) -> list[Run]:
    """Runs, with those named in the order of their ids at the places that they have between them."""
    wanted = frozenset(ids)
    named = {run.id: run for run in runs if run.id in wanted}
    ordered = iter([named[id] for id in ids if id in named])
    return [next(ordered) if run.id in named else run for run in runs]


def branches(runs: Sequence[Run]) -> Iterator[tuple[int, Run]]:
    """Every run once with its depth in the tree of branches, parents before their children.

    A run whose parent is not there is a root; so is one of a circle, which only a damaged file holds.
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
    """For each row of a tree the lines that lead to it, as `│ └─`; parents stand before their children."""
    lines: list[str] = []
    going_on: set[int] = set()
    for depth in reversed(depths):
        above = "".join("│ " if level in going_on else "  " for level in range(1, depth))
        lines.append(above + ("├─" if depth in going_on else "└─") if depth else "")
        going_on = {level for level in going_on if level < depth} | {depth}
    return lines[::-1]


def subtree(runs: Sequence[Run], root: Run) -> list[Run]:
    """A run and everything that branches from it, parents before their children."""
    tree = iter(branches(runs))
    depth = next((depth for depth, run in tree if run is root), None)
    if depth is None:
        return []
    return [root, *(run for _, run in takewhile(lambda branch: branch[0] > depth, tree))]


def lineage(runs: Sequence[Run], run: Run) -> list[Run]:
    """The runs that a branch goes back to, the oldest first, and the branch itself last."""
    # A damaged file may hold a circle: no run is taken twice.
    by_id = {other.id: other for other in runs if other is not run}
    line = [run]
    while (parent := line[-1].parent) is not None and (before := by_id.pop(parent.run, None)) is not None:
        line.append(before)
    return line[::-1]
