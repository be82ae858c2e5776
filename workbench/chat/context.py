"""What to leave out of a conversation that has outgrown the model's context."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from workbench.domain.conversation import Conversation, Message, Role
from workbench.domain.errors import BadValueError


class WhenFull(StrEnum):
    """What a person wants left out; the system prompt and the last turn of the user always stay."""

    REFUSE = "refuse"
    """Nothing: the run is not sent."""
    DROP_OLDEST = "drop oldest"
    """The oldest exchanges, as few as need be."""
    KEEP_FIRST = "keep first"
    """The oldest exchanges after the first one, which often sets the task."""
    LAST_ONLY = "last only"
    """Everything before the last turn of the user."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A conversation that fits, and what it cost to make it fit."""

    conversation: Conversation
    tokens: int
    """Tokens in its prompt."""
    dropped: tuple[int, ...] = ()
    """Indices of the turns left out of the original."""

    def describe(self) -> str:
        """What was left out, as one line; empty where nothing was."""
        if not self.dropped:
            return ""
        first, last = self.dropped[0] + 1, self.dropped[-1] + 1
        turns = f"turn {first}" if first == last else f"turns {first} to {last}"
        return f"{turns} left out to fit the context"


def fit(
    conversation: Conversation, room: int, count: Callable[[Conversation], int], when: WhenFull
) -> Fitted:
    """The conversation, cut as little as its owner allows so that its prompt takes at most `room` tokens.

    `room` is the context less the answer's max_tokens. `count` gives the tokens of a conversation's prompt;
    it is asked a number of times that grows with the logarithm of the turns.
    Raises BadValueError where even what must stay is too long, or nothing may be left out.
    """
    whole = count(conversation)
    if whole <= room:
        return Fitted(conversation, whole)
    cuts = possible_cuts(conversation, when)
    counts: dict[int, int] = {}

    def fits(index: int) -> bool:
        counts[index] = count(without(conversation, cuts[index]))
        return counts[index] <= room

    index = bisect_left(range(len(cuts)), True, key=fits)
    if index == len(cuts):
        least = counts.get(len(cuts) - 1, whole)
        raise BadValueError(
            f"The prompt takes {least:,} tokens, {least - room:,} more than there is room for",
            "Nothing was left out." if when is WhenFull.REFUSE else "Leaving out turns is not enough.",
            "Shorten the turns, lower max_tokens, or choose what to leave out when the context is full.",
            field="prompt",
        )
    return Fitted(without(conversation, cuts[index]), counts[index], cuts[index])


def possible_cuts(conversation: Conversation, when: WhenFull) -> Sequence[tuple[int, ...]]:
    """Which turns may be left out, each choice leaving out more than the one before it; indices of turns.

    For those who must count the tokens of each asynchronously.
    """
    exchanges = _exchanges(conversation.messages)
    match when:
        case WhenFull.REFUSE:
            return ()
        case WhenFull.KEEP_FIRST:
            droppable = exchanges[1:-1]
        case _:
            droppable = exchanges[:-1]
    cuts = [
        tuple(index for exchange in droppable[: count + 1] for index in exchange)
        for count in range(len(droppable))
    ]
    return cuts[-1:] if when is WhenFull.LAST_ONLY else cuts


def without(conversation: Conversation, dropped: Sequence[int]) -> Conversation:
    """The conversation without some of its turns."""
    gone = set(dropped)
    kept = tuple(one for index, one in enumerate(conversation.messages) if index not in gone)
    return replace(conversation, messages=kept)


def _exchanges(messages: Sequence[Message]) -> list[range]:
    """Turns grouped so that each group begins with one of the user: templates want them in turn."""
    users = (index for index, message in enumerate(messages) if message.role is Role.USER)
    edges = sorted({0, *users, len(messages)})
    return [range(start, end) for start, end in pairwise(edges)]
