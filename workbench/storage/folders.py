"""Where the program's files are; nothing here touches the disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

APPLICATION = "completion-workbench"
"""The folders' name wherever the system's conventions ask for one."""

HOME_VARIABLE = "WORKBENCH_HOME"
"""The environment variable that puts all folders under one."""


class Folders(Struct, frozen=True):
    """The folders that the program reads and writes; each is made when something is first written to it."""

    config: Path
    """What a person edits: config.toml, endpoints, presets, themes, templates."""
    data: Path
    """Sessions and what belongs to them."""
    state: Path
    """What the program remembers by itself."""

    @staticmethod
    def default(environment: Mapping[str, str]) -> Folders:
        """The system's usual folders, or all under `WORKBENCH_HOME` where that is set."""
        if home := environment.get(HOME_VARIABLE):
            base = Path(home).expanduser()
            return Folders(base / "config", base / "data", base / "state")
        # platformdirs is needed only here, and not when a folder was named.
        from platformdirs import PlatformDirs

        usual = PlatformDirs(APPLICATION, appauthor=False)
        return Folders(usual.user_config_path, usual.user_data_path, usual.user_state_path)
