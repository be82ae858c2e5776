"""The user's configuration (`config.toml`, never rewritten) and the program's state (`state.toml`)."""

from pathlib import Path
from typing import Annotated, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from workbench.domain.errors import StorageError
from workbench.domain.notable_tokens import LOW_COVERAGE, SURPRISING
from workbench.storage.files import Folders, is_missing, write_atomically
from workbench.storage.toml_files import about, read_toml, typed
from workbench.storage.toml_text import toml_table

ColourBy: TypeAlias = Literal["fitted", "continuous", "probability", "surprisal", "entropy", "rank", "off"]
"""The quantity that colours tokens."""
Fraction: TypeAlias = Annotated[float, msgspec.Meta(gt=0, lt=1)]
"""Between 0 and 1, exclusive."""

DEFAULT_THEME = "dark"
"""The theme if none was chosen."""


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of `config.toml`, all optional."""

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
    """The configuration and the problems in its file; invalid keys have their defaults."""

    config: Config
    problems: tuple[StorageError, ...] = ()


class State(Struct, frozen=True, omit_defaults=True):
    """The program's state, kept between starts."""

    session: str = ""
    """Path of the last open session."""
    theme: str = ""
    colour_by: ColourBy | None = None
    surprising: Fraction | None = None
    low_coverage: Fraction | None = None


def config_file(folders: Folders) -> Path:
    """Return the path of `config.toml`."""
    return folders.config / "config.toml"


def load_config(folders: Folders) -> LoadedConfig:
    """Load the configuration, with defaults if there is no file, and for every invalid key."""
    path = config_file(folders)
    if is_missing(path):
        return LoadedConfig(Config())
    try:
        file = read_toml(path)
    except StorageError as problem:
        return LoadedConfig(Config(), (problem,))
    config, faults = typed(file.table, Config)
    return LoadedConfig(config or Config(), tuple(map(file.error, faults)))


def load_state(folders: Folders) -> State:
    """Load the state; empty if the file is missing or damaged, because only the program writes it."""
    try:
        state, _ = typed(read_toml(folders.state / "state.toml").table, State)
    except StorageError:
        state = None
    return state or State()


def save_state(folders: Folders, state: State) -> None:
    """Save the state. Raises StorageError if the file cannot be written."""
    kept = msgspec.to_builtins(state)
    write_atomically(folders.state / "state.toml", "".join(toml_table(kept)).encode("utf-8", "replace"))


def chosen_theme(config: Config, state: State) -> str:
    """Return the theme to start with: as configured, else as last picked, else the default."""
    return config.theme or state.theme or DEFAULT_THEME


def chosen_colour_by(config: Config, state: State) -> ColourBy:
    """Return the colouring to start with: as configured, else as last picked, else the default."""
    return config.colour_by or state.colour_by or "fitted"


def chosen_thresholds(config: Config, state: State) -> tuple[float, float]:
    """Return the surprise and low-coverage thresholds: as configured, else as last picked, else defaults."""
    return (
        config.surprising or state.surprising or SURPRISING,
        config.low_coverage or state.low_coverage or LOW_COVERAGE,
    )
