"""A person's own keys, in every face of the command table."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from textual.widgets import OptionList

from tests.client.loopback import answering
from tests.tui.scripted import answer, until, workbench
from tests.tui.test_wiring import configure, toasts
from workbench.tui.chat.screen import ChatScreen
from workbench.tui.chat.turns_pane import TurnsPane
from workbench.tui.commands.command import Where
from workbench.tui.commands.keymap import _TOGETHER, OWN_KEYS, with_keys
from workbench.tui.commands.table import COMMANDS
from workbench.tui.popups.key_row import KeyRow
from workbench.tui.popups.picker import Picker
from workbench.tui.popups.question import LinePopup
from workbench.tui.sessions.screen import SessionsScreen


def test_without_wishes_the_keys_are_the_program_s() -> None:
    assert with_keys({}) == OWN_KEYS
    assert OWN_KEYS.commands == COMMANDS


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        ({"run": "f6"}, {"run": ("f6",)}),
        ({"run": "F6, Ctrl+K"}, {"run": ("f6", "ctrl+k")}),
        ({"copy_answer": "Y"}, {"copy_answer": ("Y",)}),
        ({"find": "&, ctrl+f"}, {"find": ("ampersand", "ctrl+f")}),
        ({"run": "f8", "compare": "f5"}, {"run": ("f8",), "compare": ("f5",)}),
        ({"token": "h, o"}, {"token": ("h", "o")}),
        ({"unset": "d, backspace"}, {"unset": ("d", "backspace")}),
        ({"token": "right, left"}, {"token": ("right", "left")}),
    ],
)
def test_keys_replace_the_command_s_own(
    wanted: Mapping[str, str], keys: Mapping[str, tuple[str, ...]]
) -> None:
    table = with_keys(wanted)
    assert table.problems == ()
    assert {id: table[id].keys for id in keys} == keys


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"runn": "f6"}, "keys.runn is not a command\nDid you mean run?"),
        ({"-token": "f6"}, "keys.-token is not a command"),
        ({"run": "strg+x"}, "strg+x is not a key"),
        ({"run": ""}, "is not a key"),
        ({"run": "x"}, "x is typed into the prompt"),
        ({"run": "ctrl+i"}, "ctrl+i is Tab to a terminal"),
        ({"run": "f1"}, "f1 is the key of Help"),
        ({"token": "h"}, "keys.token needs 2 keys, not 1\nOne each, as ← → are: Previous, next token."),
        ({"token": "h, y"}, "keys.token: y is the key of Copy"),
        ({"type": "h"}, "keys.type is not a command"),
        ({"copy_answer": "p"}, "p is the key of Replay"),
        ({"run": "ctrl+k", "stop": "ctrl+k"}, "ctrl+k is the key of Stop"),
    ],
)
def test_what_cannot_be_is_told_and_changes_nothing(wanted: Mapping[str, str], expected: str) -> None:
    table = with_keys(wanted)
    assert expected in str(table.problems[0])
    assert len(table.problems) == 1
    assert "run" not in table.keymap


async def test_remapped_keys_work_and_show_in_footer_help_and_palette() -> None:
    configure('[keys]\nrun = "f6"\npalette = "ctrl+k"\ncopy_answer = "Y"\n')
    async with workbench(answering(answer(" in", "."))) as (app, pilot, loopback):
        assert str(app.main.footer.render()).strip().startswith("F6 Run")
        await pilot.press("f5")
        await pilot.pause()
        assert loopback.requests == []
        await pilot.press("f6")
        await until(pilot, lambda: bool(app.main.output.runs) and not app.main.output.runs[-1].is_running)
        await pilot.press("f4", "Y")
        assert app.clipboard == " in."
        for key, row in (("ctrl+k", "F6"), ("f1", "Y")):
            await pilot.press(key)
            await until(pilot, lambda: isinstance(app.screen, Picker))
            options = app.screen.query_one(OptionList).options
            assert any(row in str(option.prompt).split() for option in options)
            await pilot.press("escape")


async def test_a_pane_s_own_keys_can_be_others_too() -> None:
    configure('[keys]\ntoken = "h, o"\nstep = "a, z"\nrow = "a, z"\n')
    async with workbench(answering(answer(" in", ".", "!"))) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and not app.main.output.runs[-1].is_running)
        await pilot.press("f4", "home", "o", "o", "h", "right")
        cursor = app.main.output.view.cursor
        assert cursor is not None
        assert cursor[1] == 1
        assert "h o Token" in app.main.footer.render().plain
        await pilot.press("f3", "z")
        assert app.main.parameters.parameters.get("temperature") is not None
        await pilot.press("f4", "i", "z")
        assert app.main.inspector._row == 1


async def test_the_keys_of_other_screens_can_be_others_and_show_there() -> None:
    configure('[keys]\nrename_session = "ctrl+e"\nprompt_preview = "ctrl+k"\nyes = "j"\n')
    async with workbench(answering(answer(" in", "."))) as (app, pilot, _):
        await pilot.press("ctrl+j")
        await until(pilot, lambda: bool(app.main.output.runs) and not app.main.output.runs[-1].is_running)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, SessionsScreen) and bool(app.screen.shown))
        assert "^E Rename" in app.screen.query_one(KeyRow).render().plain
        await pilot.press("ctrl+r")
        assert isinstance(app.screen, SessionsScreen)
        await pilot.press("ctrl+e")
        await until(pilot, lambda: isinstance(app.screen, LinePopup))
        await pilot.press("escape", "escape", "f12")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
        assert "^K Exact prompt" in app.screen.query_one(KeyRow).render().plain
        await pilot.press("ctrl+k")
        assert app.screen.query_one(TurnsPane).has_class("-previewing")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"rename_session": "ctrl+x"}, "ctrl+x is the key of Delete"),
        ({"keep": "ctrl+q"}, "ctrl+q is the key of Quit"),
        ({"say": "x"}, "x is typed into a field"),
        ({"open_session": "f6"}, "keys.open_session is not a command"),
    ],
)
def test_what_cannot_be_on_other_screens_is_told(wanted: Mapping[str, str], expected: str) -> None:
    table = with_keys(wanted)
    assert [expected in str(problem) for problem in table.problems] == [True]
    assert table.keymap == {}


async def test_a_command_that_is_not_there_is_told_with_the_nearest_one() -> None:
    configure('[keys]\nrum = "f6"\n')
    async with workbench(answering(answer(" in", "."))) as (app, _, _):
        assert toasts(app) == ["config.toml: keys.rum is not a command\nDid you mean run?"]


@pytest.mark.parametrize("keys", _TOGETHER, ids=lambda keys: "-".join(sorted(keys)))
def test_no_two_commands_of_one_place_have_the_same_name(keys: set[Where]) -> None:
    titles = [command.title for command in COMMANDS if command.where in keys]
    assert sorted(set(titles)) == sorted(titles)
