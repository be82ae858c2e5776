"""A curl command pasted: offered in the prompt, taken over where asked for, its key never."""

from __future__ import annotations

import pytest
from textual import events

from tests.client.loopback import answering
from tests.tui.scripted import answer, until, workbench
from tests.tui.test_endpoints_screen import everything_written
from tests.tui.test_wiring import toasts
from workbench.domain.errors import BadValueError
from workbench.domain.prompt import TextPrompt
from workbench.runner.import_curl import curl_from_text, is_curl
from workbench.tui.editor.inputs import ExactTextArea
from workbench.tui.popups.question import Question
from workbench.tui.prompt.flow import CurlPopup

KEY = "sk-proj-Zq81mVt50aLw"
COMMAND = f"""curl -s https://api.openai.com/v1/completions \\
  -H "Content-Type: application/json" -H "Authorization: Bearer {KEY}" --retry 3 \\
  -d $'{{"model": "davinci-002", "prompt": "It\\'s\\\\u0021", "temperature": 0.3, "stream": true}}'
"""


async def test_a_pasted_command_is_offered_and_taken_only_on_yes() -> None:
    async with workbench(answering(answer(" a"))) as (app, pilot, loopback):
        before = app.workspace.drafting.draft
        for key in ("n", "y"):
            app.post_message(events.Paste(COMMAND))
            await until(pilot, lambda: isinstance(app.screen, Question))
            assert COMMAND.strip() in app.main.prompt.text
            assert app.workspace.drafting.draft.parameters == before.parameters
            await pilot.press(key)
            await until(pilot, lambda: app.screen is app.main)
        await until(pilot, lambda: app.main.prompt.text == "It's!")
        draft = app.workspace.drafting.draft
        assert (draft.endpoint, draft.model) == ("openai", "davinci-002")
        assert draft.parameters.get("temperature") == 0.3
        assert "key in the command was left out" in str(toasts(app))
        assert loopback.requests == []
        app.workspace.undo()
        await until(pilot, lambda: app.workspace.drafting.draft.parameters == before.parameters)
        assert COMMAND.strip() in app.main.prompt.text
        app.post_message(events.Paste("curling is a sport"))
        await until(pilot, lambda: "curling" in app.main.prompt.text)
        assert app.screen is app.main


async def test_a_command_is_pasted_where_the_palette_asks_for_it_and_stays_until_it_is_right() -> None:
    async with workbench(answering(answer(" a"))) as (app, pilot, _):
        app.main.do("paste_curl")
        await until(pilot, lambda: isinstance(app.screen, CurlPopup) and app.screen.focused is not None)
        area = app.screen.query_one(ExactTextArea)
        area.load_text("curl http://127.0.0.1:9/v1/completions -d '[red]'")
        await pilot.press("ctrl+j")
        await until(pilot, lambda: "not JSON" in str(app.screen.query_one("#wrong").render()))
        area.load_text(COMMAND)
        await pilot.press("ctrl+j")
        await until(pilot, lambda: app.screen is app.main and app.main.prompt.text == "It's!")
        app.main.keep()
        await app.workspace.keeper.settle()
        assert b"davinci-002" in everything_written()
        assert KEY.encode() not in everything_written()


@pytest.mark.parametrize(
    ("command", "url", "prompt", "had_key"),
    [
        ("""curl 'http://h/v1' -d '{"prompt":"a"}' --max-time 30""", "http://h/v1", "a", False),
        ("""curl -u me:pw http://h/c --data-raw '{"prompt":"a b"}'""", "http://h/c", "a b", True),
        ("""curl http://me:pw@h/c -d '{"prompt":""}'""", "http://h/c", "", True),
        ("""curl -H'x-api-key: k' --url http://h/c --json '{"prompt":"x"}'""", "http://h/c", "x", True),
        (r"""curl h:1/c -H "Accept: a" -d $'{"prompt":"\x41\\n"}'""", "h:1/c", "A\n", False),
    ],
)
def test_commands_are_read_as_a_shell_reads_them(command: str, url: str, prompt: str, had_key: bool) -> None:
    assert is_curl(command)
    found = curl_from_text(command)
    assert (found.url, found.request.prompt, found.had_key) == (url, TextPrompt(prompt), had_key)


def test_a_chat_is_refused_by_name() -> None:
    with pytest.raises(BadValueError, match="messages of a chat"):
        curl_from_text("""curl http://h/v1/chat/completions -d '{"messages":[]}'""")
