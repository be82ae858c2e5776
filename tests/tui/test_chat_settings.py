"""What is set for a conversation on its screen: template, system prompt, the answer's beginning, context."""

from __future__ import annotations

import json
from pathlib import Path

from textual.widgets import Input, TextArea

from tests.tui.scripted import until
from tests.tui.test_chat_turns import Talk, talking
from workbench.domain.conversation import Prefixes, WhenFull

SEVERAL = [
    {"name": "default", "template": "{{ messages[0].content }}"},
    {"name": "loud", "template": "{% for m in messages %}{{ m.role | upper }}:{{ m.content }};{% endfor %}"},
]


async def shown(talk: Talk, prompt: str) -> None:
    """Wait until the exact prompt is shown."""
    await until(
        talk.pilot, lambda: [section.prompt for section in talk.chat.turns.preview.view.sections] == [prompt]
    )


async def answer_popup(talk: Talk, key: str, text: str, *then: str) -> None:
    """Open a popup by its key, write a text into what has the focus there, and press keys."""
    await talk.pilot.press(key)
    await until(talk.pilot, lambda: talk.chat.app.screen is not talk.chat)
    field = talk.chat.app.screen.focused
    if isinstance(field, Input):
        field.value = text
    elif isinstance(field, TextArea):
        field.text = text
    await talk.pilot.pause()
    await talk.press(*then)


async def test_a_template_of_several_in_a_file_is_chosen_and_taken_back(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": SEVERAL}))
    async with talking() as talk:
        talk.chat.composer.text = "Hi"
        await talk.press("ctrl+e")
        await shown(talk, "<user>Hi<assistant>")
        await answer_popup(talk, "ctrl+t", str(tmp_path), "enter", "down", "enter")
        assert talk.chat.chat.chat.template == f"{tmp_path}:loud"
        await answer_popup(talk, "f3", "Be brief.", "ctrl+j")
        await shown(talk, "SYSTEM:Be brief.;USER:Hi;")
        await talk.press("f4", "u", "u")
        assert talk.chat.chat.chat.template == ""
        await shown(talk, "<user>Hi<assistant>")
        await answer_popup(talk, "ctrl+t", "/no/such", "enter")
        assert talk.chat.chat.chat.template == ""


async def test_plain_prefixes_the_beginning_and_the_context_are_set() -> None:
    async with talking() as talk:
        talk.chat.composer.text = "Hi"
        await talk.press("ctrl+e")
        await answer_popup(talk, "ctrl+t", "plain", "enter", *["backspace"] * 6, *"Q: ", "enter")
        assert talk.chat.chat.chat.prefixes == Prefixes(user="Q: ")
        await answer_popup(talk, "f6", "Well", "ctrl+j")
        await shown(talk, "Q: Hi\nAssistant: Well")
        await answer_popup(talk, "f7", "oldest", "enter")
        await answer_popup(talk, "f7", "size", "enter", *"4,096", "enter")
        chat = talk.chat.chat.chat
        assert (chat.when_full, chat.context) == (WhenFull.DROP_OLDEST, 4096)
        await until(talk.pilot, lambda: "/4,096" in str(talk.chat.query_one("#about").render()))
