"""The commands with the person's own keys from `config.toml`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from msgspec import Struct
from msgspec.structs import replace
from textual.app import App
from textual.keys import Keys

from workbench.domain.display import one_line
from workbench.domain.errors import StorageError
from workbench.tui.commands.command import CHARACTERS, SHARED, Command, Where, is_typed
from workbench.tui.commands.table import BY_ID, COMMANDS

_NAMED = frozenset(key.value for key in Keys)
_MODIFIERS = frozenset({"ctrl", "shift", "alt"})
_SAME = {"ctrl+i": "Tab", "ctrl+m": "Enter", "ctrl+h": "Backspace", "ctrl+enter": "Enter"}
"""Keys that a terminal does not distinguish from others."""
_MAIN = (Where.PROMPT, Where.PARAMETERS, Where.OUTPUT, Where.INSPECTOR)
"""The panes of the main screen."""
_WITH_FIELDS = frozenset(
    {
        *(Where.EVERYWHERE, Where.ANYWHERE, Where.SESSIONS, Where.ENDPOINTS, Where.ENDPOINT_FORM),
        *(Where.PRESETS, Where.LIST, Where.PICKER, Where.POPUP, Where.CHAT, Where.WRITING, Where.CURL),
    }
)
"""Where a text field may have the focus, which takes keys that type a character."""


class CommandTable(Struct, frozen=True):
    """All commands with their keys."""

    commands: tuple[Command, ...] = COMMANDS
    keymap: Mapping[str, str] = {}
    """The person's own keys as a Textual keymap, by binding id."""
    problems: tuple[StorageError, ...] = ()
    """Errors of the `[keys]` table; the commands concerned keep their built-in keys."""

    def __iter__(self) -> Iterator[Command]:
        return iter(self.commands)

    def __getitem__(self, id: str) -> Command:
        return next(command for command in self.commands if command.id == id)


OWN_KEYS = CommandTable()
"""The commands with their built-in keys."""


def commands_of(app: App[object]) -> CommandTable:
    """Return the commands of an application; in a widget test without them, with built-in keys."""
    table = getattr(app, "commands", None)
    return table if isinstance(table, CommandTable) else OWN_KEYS


def key_of(app: App[object], id: str) -> str:
    """Return the first key of a command as shown to a person, to name it in a text."""
    return commands_of(app)[id].first_key


def with_keys(wanted: Mapping[str, str]) -> CommandTable:
    """Return the commands with the person's keys, given by command id and separated by commas."""
    keys_by_id: dict[str, tuple[str, ...]] = {}
    problems: list[StorageError] = []
    for name, text in wanted.items():
        try:
            command = _named(name)
            keys_by_id[command.id] = _keys(command, text)
        except StorageError as problem:
            problems.append(problem)
    while (clash := _clash(keys_by_id)) is not None:
        id, key, title = clash
        problems.append(StorageError(f"config.toml: keys.{id}: {key} is the key of {title}"))
        del keys_by_id[id]
    return CommandTable(_commands(keys_by_id), dict(_keymap(keys_by_id)), tuple(problems))


def _keymap(keys_by_id: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """Yield the ids of bindings with their keys."""
    for id, keys in keys_by_id.items():
        if BY_ID[id].actions:
            yield from ((f"{id}.{index}", key) for index, key in enumerate(keys))
        else:
            yield id, ",".join(keys)


def _commands(keys_by_id: Mapping[str, tuple[str, ...]]) -> tuple[Command, ...]:
    return tuple(
        replace(command, keys=keys_by_id[command.id], shown="") if command.id in keys_by_id else command
        for command in COMMANDS
    )


def _clash(keys_by_id: Mapping[str, tuple[str, ...]]) -> tuple[str, str, str] | None:
    """Return a conflict of a new key with another command: the id, the key and the other's title."""
    commands = _commands(keys_by_id)
    for command in commands:
        if command.id not in keys_by_id:
            continue
        for other in commands:
            key = next((key for key in command.keys if key in other.keys), None)
            wheres = {command.where, other.where}
            if key is not None and other is not command and any(wheres <= both for both in _TOGETHER):
                return command.id, key, other.title
    return None


_TOGETHER = [
    *(
        {where, *SHARED.get(where, ()), Where.EVERYWHERE, *([Where.ANYWHERE] if where in _MAIN else [])}
        for where in Where
    ),
    {Where.OUTPUT, Where.TOKENS, Where.GROUP, Where.EVERYWHERE, Where.ANYWHERE},
]
"""Sets of sections whose keys are active at the same time."""


def _named(name: str) -> Command:
    """Return the command of an id. Raises StorageError if there is none, or if its keys are fixed."""
    known = {command.id: command for command in COMMANDS if not command.is_fixed}
    if name not in known:
        near = get_close_matches(name, known, 1, 0.5)
        hint = f"Did you mean {near[0]}?" if near else "The README's table of keys has the names."
        raise StorageError(f"config.toml: keys.{one_line(name, 40)} is not a command", hint=hint)
    return known[name]


def _keys(command: Command, text: str) -> tuple[str, ...]:
    """Parse the keys of a command. Raises StorageError for an invalid key or a wrong number of keys."""
    keys = tuple(dict.fromkeys(_key(key.strip(), command) for key in text.split(",")))
    if command.actions and len(keys) != len(command.keys):
        needed = f"config.toml: keys.{command.id} needs {len(command.keys)} keys, not {len(keys)}"
        raise StorageError(needed, hint=f"One each, as {command.key_label} are: {command.help}")
    return keys


def _key(text: str, command: Command) -> str:
    name = f"config.toml: keys.{command.id}: {one_line(text, 40)}"
    key = text if len(text) == 1 and text.isalpha() else CHARACTERS.get(text, text.lower())
    *modifiers, last = key.split("+")
    is_last = last in _NAMED or is_typed(last)
    if not is_last or not _MODIFIERS.issuperset(modifiers):
        raise StorageError(f"{name} is not a key", hint="Keys are named f6, ctrl+k, slash or x.")
    if key in _SAME:
        raise StorageError(f"{name} is {_SAME[key]} to a terminal", hint="Take another key.")
    if is_typed(key) and command.where in _WITH_FIELDS:
        pane = "the prompt" if command.where in (Where.ANYWHERE, Where.EVERYWHERE) else "a field"
        raise StorageError(f"{name} is typed into {pane}", hint="Take a function key, or one with ctrl.")
    return key
