"""What a person configures (`config.toml`, never rewritten) and what the program remembers (`state.toml`)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, NamedTuple, TypeAlias

import msgspec
import tomli_w
from msgspec import Struct

from workbench.domain.errors import StorageError
from workbench.domain.token_levels import LOW_COVERAGE, SURPRISING
from workbench.storage.files import Folders, write_atomically
from workbench.storage.toml_files import about, read_toml, typed

ColourBy: TypeAlias = Literal["fitted", "continuous", "probability", "surprisal", "entropy", "rank", "off"]
"""What tokens are coloured by."""
Fraction: TypeAlias = Annotated[float, msgspec.Meta(gt=0, lt=1)]
"""More than nothing and less than all."""

DEFAULT_THEME = "dark"
"""The theme where nobody chose one."""


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """What the person set; every key is optional."""

    endpoint: Annotated[str, about("Endpoint of a new session; empty: the one in use, at first local.")] = ""
    preset: Annotated[str, about("Preset of a new session; empty keeps the current settings.")] = ""
    theme: Annotated[str, about("Name of a theme; empty: the one last picked.")] = ""
    colour_by: Annotated[ColourBy | None, about("What tokens are coloured by; unset: as last picked.")] = None
    confirm_above: Annotated[
        int, about("Completion tokens above which to ask before sending; 0 never asks.", ge=0)
    ] = 4096
    autosave: Annotated[bool, about("Whether a session without a name is saved as well.")] = True
    editor: Annotated[str, about("Command that edits texts; empty: $VISUAL or $EDITOR.")] = ""
    keys: Annotated[dict[str, str], about("Keys by command, several separated by commas.")] = {}
    surprising: Annotated[
        Fraction | None, about("Probability below which [ ] stop; unset: as last picked.")
    ] = None
    low_coverage: Annotated[
        Fraction | None, about("Top-k mass below which < > stop; unset: as last picked.")
    ] = None
    branch_ids: Annotated[bool, about("Send branches as token ids, so that nothing is retokenised.")] = False
    reduced_motion: Annotated[
        bool, about("No animations, no blinking cursor, and fewer updates while text streams.")
    ] = False


class LoadedConfig(NamedTuple):
    """The configuration, and what was wrong with its file; a key at fault has its default."""

    config: Config
    problems: tuple[StorageError, ...] = ()


class State(Struct, frozen=True, omit_defaults=True):
    """What the program remembers from one start to the next."""

    session: str = ""
    """Path of the session that was open last."""
    theme: str = ""
    colour_by: ColourBy | None = None
    surprising: Fraction | None = None
    low_coverage: Fraction | None = None


def config_file(folders: Folders) -> Path:
    """The file that a person edits."""
    return folders.config / "config.toml"


def load_config(folders: Folders) -> LoadedConfig:
    """The configuration; defaults where there is no file, and for every key that is wrong."""
    path = config_file(folders)
    if not path.exists():
        return LoadedConfig(Config())
    try:
        file = read_toml(path)
    except StorageError as problem:
        return LoadedConfig(Config(), (problem,))
    config, faults = typed(file.table, Config)
    return LoadedConfig(config or Config(), tuple(map(file.error, faults)))


def load_state(folders: Folders) -> State:
    """What was remembered; nothing where the file is missing or damaged, as only the program writes it."""
    try:
        state, _ = typed(read_toml(folders.state / "state.toml").table, State)
    except StorageError:
        state = None
    return state or State()


def save_state(folders: Folders, state: State) -> None:
    """Remember for the next start. Raises StorageError where the file cannot be written."""
    kept = msgspec.to_builtins(state)
    write_atomically(folders.state / "state.toml", tomli_w.dumps(kept).encode("utf-8", "replace"))


def chosen_theme(config: Config, state: State) -> str:
    """The theme to start with: the person's setting, else the one last picked, else the default."""
    return config.theme or state.theme or DEFAULT_THEME


def chosen_colour_by(config: Config, state: State) -> ColourBy:
    """What to colour by at the start: the person's setting, else what was last picked."""
    return config.colour_by or state.colour_by or "fitted"


def chosen_thresholds(config: Config, state: State) -> tuple[float, float]:
    """The probability of a surprising token and the low top-k mass: as set, else as last picked."""
    return (
        config.surprising or state.surprising or SURPRISING,
        config.low_coverage or state.low_coverage or LOW_COVERAGE,
    )
