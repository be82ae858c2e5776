"""What a person did to the open session, as data: undone and redone in order, across all panes."""

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
"""A place in a text: line and column, both from 0; lines end with LF alone."""

MOST_BYTES = 64 * 1024 * 1024
"""About how much memory what can be undone and redone may keep."""
_TYPED_AT_ONCE = 100
"""Characters typed in one go that are undone together at most."""
_FIXED, _TOKEN = 500, 200
"""About the bytes of a step itself, and of a token that a removed run keeps."""


def end_of(start: Location, text: str) -> Location:
    """Where a text ends that begins somewhere."""
    lines = text.count("\n")
    if not lines:
        return start[0], start[1] + len(text)
    return start[0] + lines, len(text) - text.rfind("\n") - 1


class ReplaceText(Struct, frozen=True):
    """A range of the prompt gets another text."""

    start: Location
    removed: str
    inserted: str

    @property
    def inverse(self) -> ReplaceText:
        """What undoes it."""
        return ReplaceText(self.start, self.inserted, self.removed)

    @property
    def is_key(self) -> bool:
        """Whether one key does it: a character within a line is typed or deleted."""
        return len(self.removed) + len(self.inserted) == 1 and "\n" not in (self.removed, self.inserted)

    def joined(self, key: ReplaceText) -> ReplaceText | None:
        """This and what the next key did to the text beside it, as one step; None where they are two."""
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
    """The draft gets other parameters, preset, endpoint, model and kind of prompt."""

    draft: Draft
    """What it has them of; its prompt is not used."""
    endpoint: Endpoint
    preset: Preset | None


class RemoveRuns(Struct, frozen=True):
    """Runs leave the session."""

    runs: tuple[Run, ...]
    is_branch: bool = False
    """Whether it is a branch, whose origin is looked at then."""


class RestoreRuns(Struct, frozen=True):
    """Runs come back into the session."""

    runs: tuple[tuple[Run, str], ...]
    """In their order, each with the id of the run that it stands before; empty for the last one."""
    is_branch: bool = False


class NameRun(Struct, frozen=True):
    """A run gets another name."""

    run: Run
    name: str


class UseVariables(Struct, frozen=True):
    """The prompt's variables get other values."""

    values: Mapping[str, str]


class UseChat(Struct, frozen=True):
    """The conversation gets another system prompt, template or rule for a full context."""

    chat: Chat
    """What it has them of; its turns are not used."""


class ExchangeTurns(Struct, frozen=True):
    """Turns leave the conversation and others come back, whatever was added since."""

    out: frozenset[str]
    """Ids of turns; all that come after them leave too."""
    back: tuple[Turn, ...]
    last: str
    """Id of the turn that the path then ends with."""


Step: TypeAlias = (
    ReplaceText | UseSettings | RemoveRuns | RestoreRuns | NameRun | UseVariables | UseChat | ExchangeTurns
)


def _size_of(step: Step) -> int:
    """About the bytes that a step keeps."""
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
            # The session has the runs that are to be removed.
            return _FIXED


class Undoable(Struct, frozen=True):
    """One thing a person did: its name as the screen shows it ("the branch"), and the steps that undo it."""

    label: str
    steps: tuple[Step, ...]

    @property
    def size(self) -> int:
        """About the bytes it keeps."""
        return sum(map(_size_of, self.steps))


class History:
    """The changes of one open session, in the order they were made; the oldest are forgotten for memory."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._done: deque[Undoable] = deque()
        self._undone: list[Undoable] = []
        """What was undone, with the steps that redo it."""
        self._size = 0
        self._is_typing = False
        self._grouped: list[Step] | None = None

    def __len__(self) -> int:
        return len(self._done)

    def record(self, label: str, *steps: Step) -> None:
        """Keep a change that was just made by the steps that undo it, in turn; nothing can be redone then."""
        if self._grouped is not None:
            self._grouped[:0] = steps
            return
        self._is_typing = False
        self._size -= sum(one.size for one in self._undone)
        self._undone.clear()
        self._done.append(Undoable(label, steps))
        self._size += self._done[-1].size
        while self._size > self._most_bytes and len(self._done) > 1:
            self._size -= self._done.popleft().size

    def record_text(self, change: ReplaceText) -> None:
        """Keep a change that was just made of the prompt; what is typed in one go is undone in one."""
        is_typing = change.is_key and self._grouped is None
        newest = self._done[-1].steps[0] if self._is_typing and is_typing else None
        if isinstance(newest, ReplaceText) and (joined := newest.inverse.joined(change)) is not None:
            self._size -= self._done.pop().size
            change = joined
        self.record("the prompt", change.inverse)
        self._is_typing = is_typing

    @contextmanager
    def group(self, label: str) -> Iterator[None]:
        """Keep what is recorded within the block as one change of that name."""
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
        """Let what is typed next be a change of its own."""
        self._is_typing = False

    def undo(self, make: Callable[[Step], Step]) -> str:
        """Undo the newest change and return its name, empty where there is none.

        `make` makes a step, and returns the one that undoes it.
        """
        return self._move(self._done, self._undone, make)

    def redo(self, make: Callable[[Step], Step]) -> str:
        """Redo the change last undone and return its name, empty where there is none."""
        return self._move(self._undone, self._done, make)

    def _move(
        self,
        source: deque[Undoable] | list[Undoable],
        target: deque[Undoable] | list[Undoable],
        make: Callable[[Step], Step],
    ) -> str:
        self._is_typing = False
        if not source:
            return ""
        change = source.pop()
        made = Undoable(change.label, tuple(reversed([make(step) for step in change.steps])))
        target.append(made)
        self._size += made.size - change.size
        return change.label

    def clear(self) -> None:
        """Forget all, when another session is opened."""
        self._done.clear()
        self._undone.clear()
        self._size = 0
        self._is_typing = False
