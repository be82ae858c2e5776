"""What a command is: something a person can do, with its keys."""

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
"""The keys that panes and screens have besides their own."""

CHARACTERS = {
    character: KEY_NAME_REPLACEMENTS.get(name, name)
    for character in string.punctuation
    for name in [unicodedata.name(character).lower().replace("-", "_").replace(" ", "_")]
}
"""Textual's names of the keys that type something other than a letter or digit."""
DIGITS = tuple("123456789")
_PUNCTUATION = frozenset(CHARACTERS.values()) | {"space"}


def is_typed(key: str) -> bool:
    """Whether a key types a character where there is a text field."""
    return key in _PUNCTUATION or (len(key) == 1 and key.isalnum())


class Command(Struct, frozen=True):
    """Something a person can do: by key, by mouse in the footer, or by name in the palette."""

    id: str
    """Its name, also in the person's `[keys]`."""
    keys: tuple[str, ...]
    """Textual's names of its keys, the one to show first."""
    title: str
    help: str
    """One line of description."""
    where: Where = Where.ANYWHERE
    footer: int | None = None
    """Its rank in the footer, which drops the highest first; None leaves it out."""
    shown: str = ""
    """Its keys as a person reads them, where that is not simply their list."""
    flow: str = ""
    """The flow that does it, as `module:function`; empty where its pane does it by itself."""
    action: str = ""
    """Its action as Textual names it, where that is not its id."""
    actions: tuple[str, ...] = ()
    """An action for each key, where each does something else, such as to go back and forth."""
    also: tuple[tuple[str, str], ...] = ()
    """Further keys with their actions, which stay when a person gives it other keys."""
    needs_pane: bool = False
    """Whether only its pane can do it, as it needs the cursor there: the palette cannot."""
    priority: bool = False
    """Whether its keys come before those of the focused widget; keys that type a character never do."""
    at_rest: str | None = None
    """Its title in a last row while nothing streams; empty leaves it out."""
    is_fixed: bool = False
    """Whether its keys belong to the widget that has the focus, and cannot be others."""

    @property
    def bindings(self) -> Iterator[Binding]:
        """Its keys, as Textual takes them."""
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
        """Its action, that of the first key where each has another."""
        if self.flow:
            return f"app.flow('{self.id}')"
        return self.actions[0] if self.actions else self.action or self.id

    @property
    def key_label(self) -> str:
        """All its keys, as a person reads them."""
        keys = (
            "1–9" if self.keys == DIGITS else (" " if self.actions else ", ").join(map(key_name, self.keys))
        )
        return self.shown or keys

    @property
    def first_key(self) -> str:
        """The key to show where there is room for one."""
        return key_name(self.keys[0]) if self.keys else ""

    @property
    def footer_key(self) -> str:
        """What a footer has room for: the first key, or all where each does something else."""
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
    """A key as a person reads it: `ctrl+j` is `Ctrl+J`."""
    if key in _NAMES:
        return _NAMES[key]
    if len(key) == 1:
        return key
    return "+".join(
        part.upper() if part[1:].isdigit() or len(part) == 1 else part.title() for part in key.split("+")
    )
