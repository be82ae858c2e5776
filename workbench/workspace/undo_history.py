"""Undo and redo of changes to the open session, across all panes; changes are stored as data."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from sys import getsizeof
from typing import TypeAlias

from msgspec import Struct

from workbench.domain.conversation import Chat, Turn
from workbench.domain.endpoint import Endpoint
from workbench.domain.preset import Preset
from workbench.domain.run import Run
from workbench.domain.session import Draft

Location: TypeAlias = tuple[int, int]
"""A position in a text: line and column, both from 0; lines end with LF."""

MOST_BYTES = 64 * 1024 * 1024
"""Approximate memory limit of the history, in bytes."""
_TYPED_AT_ONCE = 100
"""Maximum number of typed characters that are undone together."""
_FIXED, _TOKEN = 500, 200
"""Approximate bytes of a step itself, and per token of a removed run."""


def end_of(start: Location, text: str) -> Location:
    """Return the location at which a text inserted at `start` ends."""
    lines = text.count("\n")
    if not lines:
        return start[0], start[1] + len(text)
    return start[0] + lines, len(text) - text.rfind("\n") - 1


class ReplaceText(Struct, frozen=True):
    """Replace a range of the prompt."""

    start: Location
    removed: str
    inserted: str

    @property
    def inverse(self) -> ReplaceText:
        """The step that undoes this one."""
        return ReplaceText(self.start, self.inserted, self.removed)

    @property
    def is_key(self) -> bool:
        """Whether one key press made this change: it types or deletes a character within a line."""
        return len(self.removed) + len(self.inserted) == 1 and "\n" not in (self.removed, self.inserted)

    def joined(self, key: ReplaceText) -> ReplaceText | None:
        """Merge the change of the next key into this one; None if they must stay two steps."""
        if len(self.removed) + len(self.inserted) >= _TYPED_AT_ONCE:
            return None
        if self.inserted and key.inserted and key.start == end_of(self.start, self.inserted):
            return ReplaceText(self.start, self.removed, self.inserted + key.inserted)
        if self.inserted or key.inserted:
            return None
        if key.start == self.start:
            return ReplaceText(self.start, self.removed + key.removed, "")
        if end_of(key.start, key.removed) == self.start:
            return ReplaceText(key.start, key.removed + self.removed, "")
        return None


class UseSettings(Struct, frozen=True):
    """Replace the draft's parameters, preset, endpoint, model and prompt kind."""

    draft: Draft
    """The source of parameters, model and kind; its prompt is not used."""
    endpoint: Endpoint
    preset: Preset | None


class RemoveRuns(Struct, frozen=True):
    """Remove runs from the session."""

    runs: tuple[Run, ...]
    is_branch: bool = False
    """Whether the run is a branch, whose branch point is then selected."""


class RestoreRuns(Struct, frozen=True):
    """Restore removed runs."""

    runs: tuple[tuple[Run, str], ...]
    """The runs in order, each with the id of the run that follows it; empty for the last."""
    is_branch: bool = False


class NameRun(Struct, frozen=True):
    """Rename a run."""

    run: Run
    name: str


class UseVariables(Struct, frozen=True):
    """Replace the values of the prompt's variables."""

    values: Mapping[str, str]


class UseChat(Struct, frozen=True):
    """Replace the conversation's system prompt, template and truncation rule."""

    chat: Chat
    """The source of these settings; its turns are not used."""


class ExchangeTurns(Struct, frozen=True):
    """Remove turns from the conversation and restore others."""

    out: frozenset[str]
    """Ids of the turns to remove, with all turns after them."""
    back: tuple[Turn, ...]
    last: str
    """Id of the turn that ends the path afterwards."""


Step: TypeAlias = (
    ReplaceText | UseSettings | RemoveRuns | RestoreRuns | NameRun | UseVariables | UseChat | ExchangeTurns
)


def _size_of(step: Step) -> int:
    """Estimate the bytes that a step occupies."""
    match step:
        case ReplaceText():
            return _FIXED + getsizeof(step.removed) + getsizeof(step.inserted)
        case RestoreRuns():
            return sum(_FIXED + _TOKEN * run.tokens for run, _ in step.runs)
        case UseVariables():
            return _FIXED + sum(map(getsizeof, step.values.values()))
        case UseChat():
            return _FIXED + getsizeof(step.chat.system or "")
        case ExchangeTurns():
            return _FIXED + sum(getsizeof(turn.text) for turn in step.back)
        case UseSettings() | NameRun() | RemoveRuns():
            # The runs to remove are still in the session, so they cost nothing here.
            return _FIXED


def _with_preset(step: Step, name: str, preset: Preset | None) -> Step:
    """Return a step that restores `preset` if it restored the one with a name, else the step itself."""
    if not isinstance(step, UseSettings) or step.draft.preset != name:
        return step
    draft = step.draft._replace(preset=preset.name if preset is not None else "")
    return UseSettings(draft, step.endpoint, preset)


class Undoable(Struct, frozen=True):
    """A change: its label on the screen ("the branch"), and the steps that undo it."""

    label: str
    steps: tuple[Step, ...]

    @property
    def size(self) -> int:
        """Estimated size in bytes."""
        return sum(map(_size_of, self.steps))


class History:
    """The changes of a session, in order; the oldest are dropped beyond the memory limit."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._done: deque[Undoable] = deque()
        self._undone: list[Undoable] = []
        """Undone changes, with the steps that redo them."""
        self._size = 0
        self._is_typing = False
        self._grouped: list[Step] | None = None

    def __len__(self) -> int:
        return len(self._done)

    def record(self, label: str, *steps: Step) -> None:
        """Record a change by the steps that undo it, in order; this clears the redo stack."""
        if self._grouped is not None:
            self._grouped[:0] = steps
            return
        self._is_typing = False
        self._size -= sum(change.size for change in self._undone)
        self._undone.clear()
        self._done.append(Undoable(label, steps))
        self._size += self._done[-1].size
        while self._size > self._most_bytes and len(self._done) > 1:
            self._size -= self._done.popleft().size

    def record_text(self, change: ReplaceText) -> None:
        """Record a change of the prompt, merging consecutive key presses."""
        is_typing = change.is_key and self._grouped is None
        newest = self._done[-1].steps[0] if self._is_typing and is_typing else None
        if isinstance(newest, ReplaceText) and (joined := newest.inverse.joined(change)) is not None:
            self._size -= self._done.pop().size
            change = joined
        self.record("the prompt", change.inverse)
        self._is_typing = is_typing

    @contextmanager
    def group(self, label: str) -> Iterator[None]:
        """Record all changes within the block as one change."""
        if self._grouped is not None:
            yield
            return
        self._grouped = []
        try:
            yield
        finally:
            steps, self._grouped = self._grouped, None
            if steps:
                self.record(label, *steps)

    def seal(self) -> None:
        """Start a new change with the next key press."""
        self._is_typing = False

    def undo(self, apply: Callable[[Step], Step]) -> str:
        """Undo the newest change and return its label, empty if there is none.

        `apply` applies a step and returns the step that undoes it.
        """
        return self._move(self._done, self._undone, apply)

    def redo(self, apply: Callable[[Step], Step]) -> str:
        """Redo the change last undone and return its label, empty if there is none."""
        return self._move(self._undone, self._done, apply)

    def _move(
        self,
        source: deque[Undoable] | list[Undoable],
        target: deque[Undoable] | list[Undoable],
        apply: Callable[[Step], Step],
    ) -> str:
        self._is_typing = False
        if not source:
            return ""
        change = source.pop()
        made = Undoable(change.label, tuple(reversed([apply(step) for step in change.steps])))
        target.append(made)
        self._size += made.size - change.size
        return change.label

    def replace_preset(self, name: str, preset: Preset | None) -> None:
        """Let undo and redo restore `preset` in place of the one with a name; None restores no preset."""
        for changes in (self._done, self._undone):
            for index, change in enumerate(changes):
                steps = tuple(_with_preset(step, name, preset) for step in change.steps)
                changes[index] = Undoable(change.label, steps)

    def clear(self) -> None:
        """Clear the history, for example when another session is opened."""
        self._done.clear()
        self._undone.clear()
        self._size = 0
        self._is_typing = False
