"""Commands: what a person can do, with keys, title and help."""

import string
import unicodedata
from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct
from textual.binding import Binding
from textual.keys import KEY_NAME_REPLACEMENTS


class Where(StrEnum):
    """The pane, screen or kind of screen whose keys a command belongs to."""

    EVERYWHERE = "every screen"
    ANYWHERE = "anywhere"
    PROMPT = "prompt"
    PARAMETERS = "parameters"
    OUTPUT = "output"
    GROUP = "comparison or sweep"
    TOKENS = "tokens"
    INSPECTOR = "inspector"
    COMPARE = "compare"
    REPLAY = "replay"
    RERUN = "re-run"
    SESSIONS = "sessions"
    GRID = "grid"
    PRESETS = "presets"
    CHAT = "chat"
    LISTING = "branches, choices"
    TREE = "branches"
    CHOICES = "choices"
    ENDPOINTS = "endpoints"
    WIRE = "wire"
    EVENTS = "events"
    ENDPOINT_FORM = "endpoint form"
    TURNS = "turns"
    PROBE = "probe"
    POPUP = "popups"
    LIST = "lists"
    PICKER = "lists to choose from"
    SELECTION = "lists to choose several from"
    QUESTION = "questions"
    WRITING = "texts"
    CURL = "curl"


SHARED = {
    Where.OUTPUT: (Where.TOKENS,),
    Where.COMPARE: (Where.TOKENS,),
    Where.RERUN: (Where.TOKENS,),
    Where.REPLAY: (Where.TOKENS,),
    Where.TURNS: (Where.TOKENS,),
    Where.SESSIONS: (Where.LIST,),
    Where.ENDPOINTS: (Where.LIST,),
    Where.TREE: (Where.LISTING,),
    Where.CHOICES: (Where.LISTING,),
    Where.WIRE: (Where.EVENTS,),
    Where.PICKER: (Where.LIST, Where.POPUP),
    Where.PRESETS: (Where.PICKER, Where.LIST, Where.POPUP),
    Where.SELECTION: (Where.POPUP,),
    Where.QUESTION: (Where.POPUP,),
    Where.WRITING: (Where.POPUP,),
    Where.CURL: (Where.POPUP,),
}
"""Further sections of the table whose keys panes and screens have."""

CHARACTERS = {
    character: KEY_NAME_REPLACEMENTS.get(name, name)
    for character in string.punctuation
    for name in [unicodedata.name(character).lower().replace("-", "_").replace(" ", "_")]
}
"""Textual's key names of punctuation characters."""
DIGITS = tuple("123456789")
_PUNCTUATION = frozenset(CHARACTERS.values()) | {"space"}


def is_typed(key: str) -> bool:
    """Return whether a key types a character into a text field."""
    return key in _PUNCTUATION or (len(key) == 1 and key.isalnum())


class Command(Struct, frozen=True):
    """Something a person can do by key, by clicking in the last row, or by name in the palette."""

    id: str
    """Its name in the `[keys]` table of `config.toml`."""
    keys: tuple[str, ...]
    """Textual's names of its keys; the first one is shown where there is room for one."""
    title: str
    help: str
    """One line of description."""
    where: Where = Where.ANYWHERE
    footer: int | None = None
    """Its rank in the last row, which drops the highest ranks first; None if it is not shown there."""
    shown: str = ""
    """Its keys as shown to a person; if empty, the list of its keys."""
    flow: str = ""
    """The flow that runs it, as `module:function`; empty if it is an action of its pane."""
    action: str = ""
    """Its Textual action; if empty, its id."""
    actions: tuple[str, ...] = ()
    """An action for each key, if each does something else, such as previous and next."""
    also: tuple[tuple[str, str], ...] = ()
    """Further keys with their actions, which the person's own keys do not replace."""
    needs_pane: bool = False
    """Whether it needs the cursor of its pane, so that the palette cannot run it."""
    priority: bool = False
    """Whether its keys take precedence over the focused widget's; keys that type a character never do."""
    at_rest: str | None = None
    """Its title in the last row while nothing streams; if empty, it is not shown then."""
    is_fixed: bool = False
    """Whether its keys are handled by the focused widget, so that the person cannot change them."""

    @property
    def bindings(self) -> Iterator[Binding]:
        """Its keys as Textual bindings."""
        if self.is_fixed:
            return
        actions = self.actions or (self.first_action,) * len(self.keys)
        for index, (key, action) in enumerate(zip(self.keys, actions, strict=True)):
            yield self._binding(key, action, f"{self.id}.{index}" if self.actions else self.id)
        for key, action in self.also:
            yield self._binding(key, action, None)

    def _binding(self, key: str, action: str, id: str | None) -> Binding:
        priority = self.priority and not is_typed(key)
        return Binding(key, action, self.title, tooltip=self.help, show=False, id=id, priority=priority)

    @property
    def first_action(self) -> str:
        """The action of its first key."""
        if self.flow:
            return f"app.flow('{self.id}')"
        return self.actions[0] if self.actions else self.action or self.id

    @property
    def key_label(self) -> str:
        """All its keys, as shown to a person."""
        if self.shown or self.keys == DIGITS:
            return self.shown or "1–9"
        return (" " if self.actions else ", ").join(map(key_name, self.keys))

    @property
    def first_key(self) -> str:
        """Its first key, as shown to a person; empty if it has none."""
        return key_name(self.keys[0]) if self.keys else ""

    @property
    def footer_key(self) -> str:
        """Its keys in a last row: the first one, or all if each does something else."""
        return self.key_label if self.shown or self.actions else self.first_key.replace("Ctrl+", "^")


_NAMES = {name: character for character, name in CHARACTERS.items()} | {
    "ctrl+backslash": "Ctrl+\\",
    "escape": "Esc",
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "pageup": "PgUp",
    "pagedown": "PgDn",
}


def key_name(key: str) -> str:
    """Return a key as shown to a person: `Ctrl+J` for `ctrl+j`."""
    if key in _NAMES:
        return _NAMES[key]
    if len(key) == 1:
        return key
    return "+".join(
        part.upper() if part[1:].isdigit() or len(part) == 1 else part.title() for part in key.split("+")
    )
