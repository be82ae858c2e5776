"""The command table: every key and command once, in every face that it feeds."""

from __future__ import annotations

import inspect
from collections import Counter

import pytest

from workbench.tui.app import WorkbenchApp
from workbench.tui.commands import COMMANDS, Command, Where, commands_markdown, key_name
from workbench.tui.flows import load_flow
from workbench.tui.screens.main import MainScreen
from workbench.tui.widgets.output_pane import OutputPane


def test_ids_and_keys_of_a_pane_are_used_once() -> None:
    assert max(Counter(command.id for command in COMMANDS).values()) == 1
    keys = Counter((command.where, key) for command in COMMANDS for key in command.keys)
    assert max(keys.values()) == 1


@pytest.mark.parametrize("command", [one for one in COMMANDS if not one.is_own], ids=lambda one: one.id)
def test_every_command_that_can_be_done_by_name_has_its_flow_or_its_action(command: Command) -> None:
    if command.flow:
        assert inspect.iscoroutinefunction(load_flow(command.flow))
        return
    owner: type = OutputPane if command.where is Where.OUTPUT else MainScreen
    if command.action.startswith("app."):
        owner = WorkbenchApp
    assert callable(getattr(owner, f"action_{command.id}", None))


def test_the_markdown_table_has_a_row_for_every_command() -> None:
    lines = commands_markdown().splitlines()
    assert len(lines) == len(COMMANDS) + 2
    assert all(line.count("|") - line.count("\\|") == 5 for line in lines)


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("ctrl+j", "Ctrl+J"),
        ("f5", "F5"),
        ("escape", "Esc"),
        ("question_mark", "?"),
        ("ctrl+backslash", "Ctrl+\\"),
        ("x", "x"),
        ("tab", "Tab"),
    ],
)
def test_keys_read_as_they_are_printed_on_the_keyboard(key: str, name: str) -> None:
    assert key_name(key) == name


def test_keys_that_terminals_cannot_tell_apart_are_not_used() -> None:
    used = {key for command in COMMANDS for key in command.keys}
    assert not used & {"ctrl+i", "ctrl+m", "ctrl+h", "ctrl+enter", "alt+enter"}
