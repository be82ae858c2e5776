"""Read the values of prompt variables from a TOML or JSON file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from workbench.domain.display import one_line
from workbench.domain.errors import StorageError
from workbench.domain.json_values import parse_json
from workbench.storage.files import file_error, read_text
from workbench.storage.toml_text import parse

_MOST_BYTES = 16_000_000


def load_variables(path: Path) -> Mapping[str, str]:
    """Read a file's values by name; a file with the suffix `.json` is JSON, any other TOML.

    Numbers and booleans become text. Raises StorageError if the file is unreadable or invalid.
    """
    text = read_text(path, _MOST_BYTES, is_pipe_allowed=True)
    try:
        table = parse_json(text) if path.suffix.lower() == ".json" else parse(text)
    except ValueError as error:
        raise file_error(path, "is not valid", one_line(str(error), 200)) from None
    if not isinstance(table, dict):
        raise file_error(path, "is not a table of names and values")
    return {name: _text(value, name, path) for name, value in table.items()}


def _text(value: object, name: str, path: Path) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case _:
            raise StorageError(f"{path.name}: {one_line(name, 40)} is neither a text nor a number")
