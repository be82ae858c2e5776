"""What a person did to the open session and may take back, whichever pane it was done in."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Change:
    """One thing a person did: its name as the screen says it ("the branch"), and how to take it back."""

    label: str
    undo: Callable[[], None]
    redo: Callable[[], None]


@dataclass(slots=True)
class Changes:
    """The changes of one open session, in the order they were made; both ways without an end."""

    done: list[Change] = field(default_factory=list)
    undone: list[Change] = field(default_factory=list)

    def record(self, change: Change) -> None:
        """Keep a change that was just made; what was undone before it can no longer be redone."""
        self.done.append(change)
        self.undone.clear()

    def undo(self) -> Change | None:
        """Take the newest change back and return it; None when there is none."""
        return _step(self.done, self.undone, lambda change: change.undo)

    def redo(self) -> Change | None:
        """Make the change last taken back again and return it; None when there is none."""
        return _step(self.undone, self.done, lambda change: change.redo)

    def clear(self) -> None:
        """Forget all, when another session is opened."""
        self.done.clear()
        self.undone.clear()


def _step(
    source: list[Change], target: list[Change], action: Callable[[Change], Callable[[], None]]
) -> Change | None:
    if not source:
        return None
    change = source.pop()
    action(change)()
    target.append(change)
    return change
