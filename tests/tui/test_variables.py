"""Variables in the prompt of the main screen: filled in from a form, or from a file."""

from __future__ import annotations

from pathlib import Path

from tests.tui.scripted import answer, until, workbench
from tests.tui.test_chat import chatty
from workbench.domain.display import escaped, unescaped
from workbench.tui.popups.question import Form


async def test_a_prompts_variables_are_filled_in_kept_and_undone(tmp_path: Path) -> None:
    values = tmp_path / "values.json"
    values.write_text('{"what": "sea\\nshore"}')
    async with workbench(chatty(answer("A"))) as (app, pilot, loopback):
        app.workspace.drafting.set_text("{{who}} at the {{what}}")
        app.action_flow("variables")
        await until(pilot, lambda: isinstance(app.screen, Form))
        await pilot.press(*str(values), "tab", *"She ", "enter")
        await until(pilot, lambda: app.screen is app.main)
        assert app.workspace.keeper.session.variables == {"who": "She ", "what": "sea\nshore"}
        await pilot.press("f5")
        await until(pilot, lambda: bool(loopback.requests) and not app.workspace.runs.is_streaming)
        assert loopback.requests[-1].json["prompt"] == "She  at the sea\nshore"
        # The prompt was typed too, and is taken back first.
        app.workspace.undo()
        app.workspace.undo()
        assert app.workspace.keeper.session.variables == {}


def test_escapes_come_back_as_they_were() -> None:
    for text in ("", "a\nb\tc", "\\n", "C:\\dir\\", "\\"):
        assert unescaped(escaped(text)) == text
        assert "\n" not in escaped(text)
