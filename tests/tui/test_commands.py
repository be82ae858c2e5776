"""The command table: every key and command once, in every face that it feeds."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from textual.actions import parse
from textual.binding import Binding, BindingsMap
from textual.containers import ScrollableContainer
from textual.dom import DOMNode

import workbench.tui
from tests.readme import commands_markdown
from workbench.tui.app import WorkbenchApp
from workbench.tui.chat.screen import ChatScreen
from workbench.tui.commands.command import Command, Where, key_name
from workbench.tui.commands.table import COMMANDS
from workbench.tui.flows import load_flow
from workbench.tui.main.output_pane import OutputPane
from workbench.tui.main.screen import MainScreen


def test_ids_and_keys_of_a_pane_are_used_once() -> None:
    assert max(Counter(command.id for command in COMMANDS).values()) == 1
    keys = Counter((command.where, key) for command in COMMANDS for key in command.keys)
    assert max(keys.values()) == 1


@pytest.mark.parametrize(
    "command", [command for command in COMMANDS if not command.needs_pane], ids=lambda command: command.id
)
def test_every_command_that_can_be_done_by_name_has_its_flow_or_its_action(command: Command) -> None:
    if command.flow:
        assert inspect.iscoroutinefunction(load_flow(command.flow))
        return
    owner: type = OutputPane if command.where is Where.OUTPUT else MainScreen
    if command.first_action.startswith("app."):
        owner = WorkbenchApp
    assert callable(getattr(owner, f"action_{command.id}", None))


def _classes() -> Iterator[type[DOMNode]]:
    """Every widget, screen and application of the program."""
    for module in pkgutil.walk_packages(workbench.tui.__path__, "workbench.tui."):
        import_module(module.name)
    waiting: list[type[DOMNode]] = [DOMNode]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if kind.__module__.startswith("workbench.tui."):
            yield kind


def _bindings() -> Iterator[tuple[type[DOMNode], Binding]]:
    of_textual = BindingsMap(ScrollableContainer.BINDINGS).key_to_bindings
    for kind in set(_classes()):
        for binding in kind.__dict__.get("BINDINGS", ()):
            assert isinstance(binding, Binding)
            if binding not in of_textual.get(binding.key, ()):
                yield kind, binding


def test_every_key_that_can_be_another_is_bound() -> None:
    bound = {(binding.id, binding.key) for _, binding in _bindings()}
    wanted = {(binding.id, binding.key) for command in COMMANDS for binding in command.bindings}
    assert wanted == bound


def test_every_bound_action_is_there() -> None:
    for kind, binding in _bindings():
        destination, name, _ = parse(binding.action)
        owner = {"app": WorkbenchApp, "screen": ChatScreen}.get(destination, kind)
        assert callable(getattr(owner, f"action_{name}", None)), (kind, binding.action)


def test_no_module_but_the_command_s_writes_a_binding() -> None:
    root = Path(workbench.tui.__path__[0])
    writing = [path for path in root.rglob("*.py") if re.search(r"\bBinding\(", path.read_text("utf-8"))]
    assert writing == [root / "commands" / "command.py"]


def test_the_markdown_table_has_a_row_for_every_command() -> None:
    lines = commands_markdown().splitlines()
    assert len(lines) == len(COMMANDS) + 2
    assert all(line.count("|") - line.count("\\|") == 6 for line in lines)


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
