"""`workbench schema`: print the JSON schemas of user-written files, for completion in editors."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from workbench.cli.exit_status import ExitStatus
from workbench.cli.output import print_json
from workbench.storage.config import Config
from workbench.storage.endpoint_profile import EndpointFile
from workbench.storage.presets import PresetFile
from workbench.storage.prompt_sets import PromptRow
from workbench.storage.theme_structure import ThemeFile
from workbench.storage.toml_files import schema_of

_KINDS: Mapping[str, Any] = {
    "config": Config,
    "presets": PresetFile,
    "endpoint": EndpointFile,
    "theme": ThemeFile,
    "prompts": str | PromptRow,
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "file",
        nargs="?",
        choices=_KINDS,
        help="config.toml, a file of presets/, endpoints/ or themes/, or a line of a .jsonl file of prompts; "
        "without it, all of them by name",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print one schema, or all by name, and return the exit status."""
    schemas = {
        name: {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema_of(kind)}
        for name, kind in _KINDS.items()
    }
    print_json(schemas[arguments.file] if arguments.file else schemas)
    return ExitStatus.OK
