"""The commands with the keys that a person gave them in `config.toml`."""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from textual.keys import KEY_NAME_REPLACEMENTS, Keys

from workbench.domain.display import one_line
from workbench.domain.errors import StorageError
from workbench.tui.commands import BY_ID, COMMANDS, Command, Where, key_name


def _key_of(character: str) -> str:
    name = unicodedata.name(character).lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(name, name)


_CHARACTERS = {character: _key_of(character) for character in string.punctuation}
"""Textual's names of the keys that type something other than a letter or digit."""
_PRINTABLE = frozenset(_CHARACTERS.values()) | {"space"}
_NAMED = frozenset(key.value for key in Keys)
_MODIFIERS = frozenset({"ctrl", "shift", "alt"})
_SAME = {"ctrl+i": "Tab", "ctrl+m": "Enter", "ctrl+h": "Backspace", "ctrl+enter": "Enter"}
"""Keys that a terminal sends as others."""
_TYPED = frozenset({"-type"})
"""Commands whose keys are what is typed."""
_MAIN = frozenset({Where.ANYWHERE, Where.PROMPT, Where.PARAMETERS, Where.OUTPUT, Where.INSPECTOR})


@dataclass(frozen=True, slots=True)
class CommandTable:
    """Every command with its keys."""

    commands: tuple[Command, ...] = COMMANDS
    keymap: Mapping[str, str] = field(default_factory=dict)
    """The keys that are not the program's own, by command id, as Textual takes them."""
    problems: tuple[StorageError, ...] = ()
    """What was asked for and cannot be; that command keeps the program's keys."""

    def __iter__(self) -> Iterator[Command]:
        return iter(self.commands)

    def __getitem__(self, id: str) -> Command:
        return next(command for command in self.commands if command.id == id)


OWN_KEYS = CommandTable()
"""The commands with the program's own keys."""


def with_keys(wanted: Mapping[str, str]) -> CommandTable:
    """The commands with a person's keys by command id, several divided by commas."""
    asked: dict[str, tuple[str, ...]] = {}
    problems: list[StorageError] = []
    for name, text in wanted.items():
        try:
            command = _named(name)
            asked[command.id] = _keys(command, text)
        except StorageError as problem:
            problems.append(problem)
    while (clash := _clash(asked)) is not None:
        id, key, title = clash
        problems.append(StorageError(f"config.toml: keys.{_name(BY_ID[id])}: {key} is the key of {title}"))
        del asked[id]
    return CommandTable(_commands(asked), dict(_keymap(asked)), tuple(problems))


def _keymap(asked: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """The keys by the id of a binding."""
    for id, keys in asked.items():
        if not BY_ID[id].is_own:
            yield id, ",".join(keys)
        elif BY_ID[id].has_a_key_each:
            yield from ((f"{id}.{place}", key) for place, key in enumerate(keys))
        else:
            yield f"{id}.0", ",".join(keys)


def _commands(asked: Mapping[str, tuple[str, ...]]) -> tuple[Command, ...]:
    return tuple(_with(one, asked[one.id]) if one.id in asked else one for one in COMMANDS)


def _with(command: Command, keys: tuple[str, ...]) -> Command:
    shown = " ".join(map(key_name, keys)) if command.has_a_key_each else ""
    return replace(command, keys=keys, shown=shown)


def _clash(asked: Mapping[str, tuple[str, ...]]) -> tuple[str, str, str] | None:
    """A command whose new key is another's that could be meant as well: its id, the key, and the other."""
    commands = [one for one in _commands(asked) if one.where in _MAIN]
    for command in commands:
        if command.id not in asked:
            continue
        for other in commands:
            both = {command.where, other.where}
            key = next((key for key in command.keys if key in other.keys), None)
            if key is not None and other is not command and (len(both) == 1 or Where.ANYWHERE in both):
                return command.id, key, other.title
    return None


def _name(command: Command) -> str:
    return command.id.removeprefix("-")


def _named(name: str) -> Command:
    """The command of a name. Raises StorageError where there is none whose keys can be others."""
    mine = (one for one in COMMANDS if not one.is_own or (one.where in _MAIN and one.id not in _TYPED))
    known = {_name(one): one for one in mine}
    if name not in known:
        near = get_close_matches(name, known, 1, 0.5)
        hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(known)}."
        raise StorageError(f"config.toml: keys.{one_line(name, 40)} is no command", hint=hint)
    return known[name]


def _keys(command: Command, text: str) -> tuple[str, ...]:
    """The keys for a command. Raises StorageError where one is none, or there are too few or too many."""
    keys = tuple(dict.fromkeys(_key(one.strip(), command) for one in text.split(",")))
    if command.has_a_key_each and len(keys) != len(command.keys):
        needed = f"config.toml: keys.{_name(command)} needs {len(command.keys)} keys, not {len(keys)}"
        raise StorageError(needed, hint=f"One each, as {command.shown} are: {command.help}")
    return keys


def _key(text: str, command: Command) -> str:
    name = f"config.toml: keys.{_name(command)}: {one_line(text, 40)}"
    key = text if len(text) == 1 and text.isalpha() else _CHARACTERS.get(text, text.lower())
    *modifiers, last = key.split("+")
    is_printable = key in _PRINTABLE or (len(key) == 1 and key.isalnum())
    is_last = last in _NAMED or last in _PRINTABLE or (len(last) == 1 and last.isalnum())
    if not is_last or not _MODIFIERS.issuperset(modifiers):
        raise StorageError(f"{name} is no key", hint="Keys are named f6, ctrl+k, slash or x.")
    if key in _SAME:
        raise StorageError(f"{name} is {_SAME[key]} to a terminal", hint="Take another key.")
    if is_printable and command.where is Where.ANYWHERE:
        raise StorageError(f"{name} is typed into the prompt", hint="Take a function key, or one with ctrl.")
    return key
