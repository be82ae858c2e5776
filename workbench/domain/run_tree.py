"""The tree of a session's runs: each branch below the run that it left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from workbench.domain.run import Run


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
