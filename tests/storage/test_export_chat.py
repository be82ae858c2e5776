"""A conversation in Markdown and JSON Lines."""

from __future__ import annotations

import json

from tests.domain.builders import choice_of, run_of
from workbench.domain.conversation import Chat, Turn, Turns
from workbench.domain.session import Session
from workbench.storage.export_text import to_markdown
from workbench.storage.json_lines import runs_from_json_lines, to_json_lines


def _talk() -> Session:
    first, second = run_of(choice_of(["A"])), run_of(choice_of(["B", "\n```"]))
    turns = (
        Turn("user", "Hi {{name}}", "1"),
        Turn("assistant", "A", "2", run=first.id, parent="1"),
        Turn("assistant", "B\n```", "3", run=second.id, parent="1"),
    )
    chat = Chat(Turns(turns, "3"), system="Be *brief*.", template="chatml")
    return Session(runs=[first, second], chat=chat, variables={"name": "you"})


def test_markdown_reads_like_a_chat_and_tells_of_branches() -> None:
    text = to_markdown(_talk())
    assert text.index("### System") < text.index("### 1. user") < text.index("### 2. assistant")
    assert "branch 2 of 2" in text
    assert "In other branches: 1 more turn;" in text
    assert "````text\nB\n```\n````" in text
    assert "**Prompt**" in text


def test_json_lines_hold_the_messages_of_each_answer() -> None:
    lines = to_json_lines(_talk())
    messages = [{"role": "system", "content": "Be *brief*."}, {"role": "user", "content": "Hi you"}]
    assert [json.loads(line)["messages"] for line in lines.splitlines()] == [
        [*messages, {"role": "assistant", "content": "A"}],
        [*messages, {"role": "assistant", "content": "B\n```"}],
    ]
    assert len(runs_from_json_lines(lines, "a.jsonl")) == 2
