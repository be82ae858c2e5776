"""JSON schemas of the files that a person writes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import workbench.storage
from workbench.cli import main
from workbench.tui.theme.theme_files import shipped_folder

SHIPPED = Path(workbench.storage.__file__).parent / "shipped"
TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "array": list,
    "object": dict,
    "null": type(None),
}


def is_valid(value: Any, schema: Any) -> bool:
    """Whether a value is what a JSON schema says, as far as ours say it."""
    if schema is False:
        return False
    if "anyOf" in schema and not any(is_valid(value, option) for option in schema["anyOf"]):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "type" in schema and not isinstance(value, TYPES[schema["type"]]):
        return False
    if isinstance(value, list):
        return schema.get("minItems", 0) <= len(value) and all(
            is_valid(item, schema.get("items", {})) for item in value
        )
    if isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        return (
            set(schema.get("required", [])) <= set(value)
            and all(is_valid(name, schema.get("propertyNames", {})) for name in value)
            and all(is_valid(item, properties.get(name, others)) for name, item in value.items())
        )
    if isinstance(value, int | float) and not isinstance(value, bool):
        return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))
    return True


def printed(name: str, capsys: pytest.CaptureFixture[str]) -> Any:
    assert main(["schema", name]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("presets", SHIPPED / "presets"),
        ("endpoint", SHIPPED / "endpoints"),
        ("theme", shipped_folder()),
    ],
)
def test_what_the_program_ships_goes_by_its_schema(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = printed(name, capsys)
    files = list(folder.glob("*.toml"))
    assert files
    for path in files:
        table = tomllib.loads(path.read_text("utf-8"))
        assert is_valid(table, schema), path.name
        assert not is_valid({**table, "nmae": "x"}, schema), path.name


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("config", {"colour_by": "rank", "keys": {"run": "f6"}}, {"colour_by": "hue"}),
        ("config", {"confirm_above": 0}, {"confirm_above": -1}),
        ("presets", {"parameters": {"stop": ["a"]}}, {"parameters": {"temprature": 1}}),
        ("presets", {"extra": "{}", "name": "x"}, {"parameters": {"n": 1.5}}),
        ("endpoint", {"base_url": "x", "limits": {"n": [0, 2.5]}}, {"base_url": "x", "limits": {"n": [0]}}),
        ("endpoint", {"base_url": "x", "drop": ["n"]}, {"base_url": "x", "drop": ["m"]}),
        ("endpoint", {"base_url": "x", "aliases": {"n": "m"}}, {"aliases": {"n": "m"}}),
        ("endpoint", {"base_url": "x", "context": 1}, {"base_url": "x", "context": 0}),
        ("prompts", {"prompt": "x", "id": 3}, {"prompt": 3}),
        ("prompts", "x", 3),
    ],
)
def test_a_mistake_is_one_by_the_schema_too(
    name: str, good: object, bad: object, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = printed(name, capsys)
    assert is_valid(good, schema)
    assert not is_valid(bad, schema)


@pytest.mark.parametrize(
    ("name", "path", "names"),
    [
        ("endpoint", "limits", ["temperature", "include_usage"]),
        ("endpoint", "aliases", ["top_k"]),
        ("presets", "parameters", ["top_k"]),
        ("endpoint", "key", ["environment", "command", "header"]),
    ],
)
def test_editors_are_given_the_names_to_complete(
    name: str, path: str, names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert set(names) <= set(printed(name, capsys)["properties"][path]["properties"])


def test_all_schemas_come_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == ["config", "presets", "endpoint", "theme", "prompts"]
