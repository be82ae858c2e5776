"""Conversations: read and written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.domain.conversation import (
    Conversation,
    Message,
    Role,
    conversation_from_json,
    conversation_to_json,
)
from workbench.domain.errors import BadValueError
from workbench.domain.json_values import JsonValue

_MESSAGES = st.lists(st.builds(Message, st.sampled_from([Role.USER, Role.ASSISTANT]), st.text())).map(tuple)


@given(_MESSAGES, st.text(min_size=1) | st.none())
def test_turns_survive_being_written_and_read(messages: tuple[Message, ...], system: str | None) -> None:
    conversation = Conversation(messages, system)
    assert conversation_from_json(list(conversation_to_json(conversation))) == conversation


def test_an_object_may_hold_messages_system_and_prefill() -> None:
    read = conversation_from_json(
        {"messages": [{"role": "user", "content": "Hi"}], "system": "Be kind.", "prefill": "Well"}
    )
    assert read == Conversation((Message(Role.USER, "Hi"),), "Be kind.", "Well")


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("Hi", "a list of turns"),
        ({}, "a list of turns"),
        ({"messages": [], "system": 3}, "must be strings"),
        (
            [{"role": "user", "content": "Hi"}, {"role": "wizard", "content": "Ho"}],
            "turn 2 has the role 'wiz",
        ),
        ([{"role": "user"}], "turn 1 needs"),
        ([{"role": "user", "content": [1]}], "turn 1 needs"),
        (["Hi"], "turn 1 needs"),
    ],
)
def test_what_is_no_conversation_is_refused_with_the_turn_at_fault(value: JsonValue, named: str) -> None:
    with pytest.raises(BadValueError) as caught:
        conversation_from_json(value)
    assert named in caught.value.title
