"""What is left out when a conversation outgrows the context."""

from __future__ import annotations

import pytest

from workbench.chat.truncation import Fitted, fit, possible_cuts
from workbench.domain.conversation import Conversation, Message, Role, WhenFull
from workbench.domain.errors import BadValueError

_TALK = Conversation(
    tuple(Message((Role.USER, Role.ASSISTANT)[index % 2], "x" * 10) for index in range(9)), "s" * 5
)


async def count(conversation: Conversation) -> int:
    """Tokens where each character is one."""
    return length(conversation)


def length(conversation: Conversation) -> int:
    return len(conversation.system or "") + sum(len(message.text) for message in conversation.messages)


@pytest.mark.parametrize("when", WhenFull)
async def test_what_fits_is_left_alone(when: WhenFull) -> None:
    assert await fit(_TALK, 95, count, when) == Fitted(_TALK, 95)


@pytest.mark.parametrize(
    ("when", "room", "dropped"),
    [
        (WhenFull.DROP_OLDEST, 94, (0, 1)),
        (WhenFull.DROP_OLDEST, 55, (0, 1, 2, 3)),
        (WhenFull.DROP_OLDEST, 15, (0, 1, 2, 3, 4, 5, 6, 7)),
        (WhenFull.KEEP_FIRST, 94, (2, 3)),
        (WhenFull.KEEP_FIRST, 35, (2, 3, 4, 5, 6, 7)),
        (WhenFull.LAST_ONLY, 94, (0, 1, 2, 3, 4, 5, 6, 7)),
    ],
)
async def test_as_little_is_left_out_as_need_be(when: WhenFull, room: int, dropped: tuple[int, ...]) -> None:
    fitted = await fit(_TALK, room, count, when)
    assert tuple(fitted.dropped) == dropped
    assert fitted.tokens == length(fitted.conversation) == 95 - 10 * len(dropped)
    assert fitted.conversation.system == _TALK.system
    assert fitted.conversation.messages[-1] == _TALK.messages[-1]
    assert fitted.conversation.messages[0].role is Role.USER


async def test_what_was_left_out_is_said() -> None:
    assert (
        await fit(_TALK, 94, count, WhenFull.DROP_OLDEST)
    ).describe() == "turns 1 to 2 left out to fit the context"
    assert Fitted(_TALK, 1, range(3, 4)).describe() == "turn 4 left out to fit the context"
    assert Fitted(_TALK, 95).describe() == ""


@pytest.mark.parametrize(
    ("when", "room", "title"),
    [
        (WhenFull.REFUSE, 94, "The prompt takes 95 tokens, 1 more than there is room for"),
        (WhenFull.DROP_OLDEST, 14, "The prompt takes 15 tokens, 1 more than there is room for"),
        (WhenFull.KEEP_FIRST, 34, "The prompt takes 35 tokens, 1 more than there is room for"),
        (WhenFull.LAST_ONLY, 5, "The prompt takes 15 tokens, 10 more than there is room for"),
    ],
)
async def test_what_cannot_fit_is_refused_with_the_figures(when: WhenFull, room: int, title: str) -> None:
    with pytest.raises(BadValueError) as caught:
        await fit(_TALK, room, count, when)
    assert caught.value.title == title
    assert "max_tokens" in caught.value.hint


def test_an_empty_conversation_has_nothing_to_leave_out() -> None:
    assert not any(possible_cuts(Conversation(), when) for when in WhenFull)


async def test_a_prefill_and_the_turn_it_answers_stay() -> None:
    talk = Conversation(_TALK.messages, prefill="Well")
    assert (await fit(talk, 10, count, WhenFull.DROP_OLDEST)).conversation == Conversation(
        _TALK.messages[-1:], prefill="Well"
    )


async def test_thousands_of_turns_are_counted_a_few_times_only() -> None:
    calls = []

    async def counting(conversation: Conversation) -> int:
        calls.append(conversation)
        return length(conversation)

    long = Conversation(_TALK.messages[:2] * 2000)
    assert (await fit(long, 1000, counting, WhenFull.DROP_OLDEST)).tokens == 1000
    assert len(calls) < 16
