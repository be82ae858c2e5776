"""Truncate conversations that exceed the model's context."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from workbench.domain.conversation import Conversation, Message, Role, WhenFull
from workbench.domain.errors import BadValueError


@dataclass(frozen=True, slots=True)
class Fitted:
    """A conversation that fits the context, and the turns dropped from it."""

    conversation: Conversation
    tokens: int
    """Number of tokens of its prompt."""
    dropped: range = range(0)
    """Indices of the dropped turns in the original conversation."""
    is_exact: bool = True
    """Whether the tokens were counted, not estimated from the prompt's length."""

    def describe(self) -> str:
        """Describe the dropped turns in one line; empty if there are none."""
        if not self.dropped:
            return ""
        first, last = self.dropped[0] + 1, self.dropped[-1] + 1
        turns = f"turn {first}" if first == last else f"turns {first} to {last}"
        return f"{turns} left out to fit the context"


async def fit(
    conversation: Conversation,
    room: int,
    count: Callable[[Conversation], Awaitable[int]],
    when: WhenFull,
) -> Fitted:
    """Drop as few turns as possible, by the rule `when`, so that the prompt has at most `room` tokens.

    `room` is the context size minus max_tokens. `count` returns the tokens of a conversation's prompt; it is
    called O(log n) times for n turns.
    Raises BadValueError if the prompt is too long even after dropping all the turns allowed.
    """
    least = await count(conversation)
    if least <= room:
        return Fitted(conversation, least)
    cuts = possible_cuts(conversation, when)
    found: Fitted | None = None
    low, high = 0, len(cuts)
    while low < high:
        middle = (low + high) // 2
        cut, messages = cuts[middle], conversation.messages
        kept = conversation._replace(messages=messages[: cut.start] + messages[cut.stop :])
        tokens = await count(kept)
        if tokens <= room:
            found, high = Fitted(kept, tokens, cut), middle
        else:
            least, low = tokens, middle + 1
    if found is None:
        raise BadValueError(
            f"The prompt takes {least:,} tokens, {least - room:,} more than there is room for",
            "Nothing was left out." if when is WhenFull.REFUSE else "Leaving out turns is not enough.",
            "Shorten the turns, lower max_tokens, or choose what to leave out when the context is full.",
            field="prompt",
        )
    return found


def possible_cuts(conversation: Conversation, when: WhenFull) -> Sequence[range]:
    """Return the ranges of turn indices that may be dropped, from the smallest to the largest."""
    if when is WhenFull.REFUSE:
        return ()
    droppable = _exchanges(conversation.messages)[int(when is WhenFull.KEEP_FIRST) : -1]
    cuts = [range(droppable[0].start, exchange.stop) for exchange in droppable]
    return cuts[-1:] if when is WhenFull.LAST_ONLY else cuts


def _exchanges(messages: Sequence[Message]) -> list[range]:
    """Group turns so that each group starts with a user turn, as templates require alternating roles."""
    users = (index for index, message in enumerate(messages) if message.role is Role.USER)
    edges = sorted({0, *users, len(messages)})
    return [range(start, end) for start, end in pairwise(edges)]
