"""What a person configures (`config.toml`, never rewritten) and what the program remembers (`state.toml`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias, cast, get_args

import tomli_w

from workbench.domain.errors import StorageError
from workbench.storage.atomic import write_atomically
from workbench.storage.folders import Folders
from workbench.storage.tables import Table, read_table

ColourBy: TypeAlias = Literal["probability", "surprisal", "entropy", "rank", "off"]
"""What tokens are coloured by."""

COLOUR_BY: tuple[ColourBy, ...] = get_args(ColourBy)

DEFAULT_THEME = "dark"
"""The theme where nobody chose one."""


@dataclass(frozen=True, slots=True)
class Config:
    """What the person set; every key is optional."""

    endpoint: str = ""
    """Name of the endpoint that a new session starts with; empty is the one in use, at first `local`."""
    preset: str = ""
    """Name of the preset that a new session starts with; empty keeps the parameters there are."""
    theme: str = ""
    """Name of a theme; empty is the one last picked."""
    colour_by: ColourBy | None = None
    """None is the one last picked."""
    confirm_above: int = 4096
    """Billed tokens above which a run is asked about before it is sent; 0 never asks."""
    autosave: bool = True
    """Whether a session without a name is kept as well."""
    editor: str = ""
    """Command that edits the prompt; empty goes by VISUAL and EDITOR."""
    keys: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Keys by command, several separated by commas, in place of the command's own."""
    surprising: float = 0.1
    """Probability below which a token is one that `[` and `]` go to."""
    low_coverage: float = 0.5
    """Probability that a token's alternatives must sum to, else `<` and `>` go to it."""
    branch_ids: bool = False
    """Whether branches are sent as token ids, so that no joint can change."""


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """The configuration, and what was wrong with its file; a key at fault has its default."""

    config: Config
    problems: tuple[StorageError, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """What the program remembers from one start to the next."""

    session: str = ""
    """Path of the session that was open last."""
    theme: str = ""
    colour_by: ColourBy | None = None


def config_file(folders: Folders) -> Path:
    """The file that a person edits."""
    return folders.config / "config.toml"


def load_config(folders: Folders) -> LoadedConfig:
    """The configuration; defaults where there is no file, and for every key that is wrong."""
    path = config_file(folders)
    if not path.exists():
        return LoadedConfig(Config())
    try:
        table = read_table(path)
    except StorageError as problem:
        return LoadedConfig(Config(), (problem,))
    config = Config(
        endpoint=table.text("endpoint"),
        preset=table.text("preset"),
        theme=table.text("theme"),
        colour_by=_colour_by(table),
        confirm_above=table.integer("confirm_above", Config().confirm_above, 0),
        autosave=table.switch("autosave", True),
        editor=table.text("editor"),
        surprising=_share(table, "surprising", Config().surprising),
        low_coverage=_share(table, "low_coverage", Config().low_coverage),
        branch_ids=table.switch("branch_ids", False),
        keys=MappingProxyType(table.text_map("keys")),
    )
    table.close()
    return LoadedConfig(config, tuple(table.problems))


def load_state(folders: Folders) -> State:
    """What was remembered; nothing where the file is missing or damaged, as only the program writes it."""
    try:
        table = read_table(folders.state / "state.toml")
    except StorageError:
        return State()
    return State(table.text("session"), table.text("theme"), _colour_by(table))


def save_state(folders: Folders, state: State) -> None:
    """Remember for the next start. Raises StorageError where the file cannot be written."""
    values: dict[str, str] = {
        "session": state.session,
        "theme": state.theme,
        "colour_by": state.colour_by or "",
    }
    kept = {name: value for name, value in values.items() if value}
    write_atomically(folders.state / "state.toml", tomli_w.dumps(kept).encode("utf-8", "replace"))


def chosen_theme(config: Config, state: State) -> str:
    """The theme to start with: the person's setting, else the one last picked, else the default."""
    return config.theme or state.theme or DEFAULT_THEME


def chosen_colour_by(config: Config, state: State) -> ColourBy:
    """What to colour by at the start: the person's setting, else what was last picked."""
    return config.colour_by or state.colour_by or "probability"


def _share(table: Table, name: str, default: float) -> float:
    share = table.number(name, default)
    if not 0 < share < 1:
        table.complain(name, f"must be a probability between 0 and 1, not {share:g}")
        return default
    return share


def _colour_by(table: Table) -> ColourBy | None:
    word = table.word("colour_by", COLOUR_BY)
    return cast(ColourBy, word) if word else None
