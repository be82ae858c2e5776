"""Tables of files as structures: whatever a file holds, a sentence says what is wrong, and where."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.storage.config import Config
from workbench.storage.endpoint_profile import EndpointFile, read_profile
from workbench.storage.presets import PresetFile
from workbench.storage.session_format import session_from_tables
from workbench.storage.theme_structure import ThemeFile
from workbench.storage.toml_files import BadField, TomlFile, schema_of, typed
from workbench.storage.toml_text import toml_table

KINDS: list[type[Any]] = [Config, EndpointFile, PresetFile, ThemeFile]
PLACES = sorted(
    {name for kind in KINDS for name in schema_of(kind)["properties"]}
    | {
        name
        for kind in KINDS
        for schema in schema_of(kind)["properties"].values()
        for name in schema.get("properties", {})
    }
    | {"runs", "draft", "turns", "chat", "parent", "choices", "parts", "usage", "timing", "tokens", "asked"}
)
names = st.sampled_from(PLACES) | st.sampled_from(["x", "a`b", "x` - at `$.keys", "$.keys[...]", "é z", ""])
plain = (
    st.integers(-5, 5)
    | st.booleans()
    | st.sampled_from(["", "x", "#123", "https://h/v1", "rank"])
    | st.floats(allow_nan=True)
    | st.just(datetime(2026, 1, 2, tzinfo=UTC))
)
values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=8
)
tables = st.dictionaries(names, values, max_size=6)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(KINDS), tables)
def test_every_mistake_is_a_sentence_with_its_line(kind: type[Any], table: dict[str, Any]) -> None:
    text = "".join(toml_table(table))
    value, faults = typed(tomllib.loads(text), kind)
    try:
        assert msgspec.convert(table, kind) is not None
        assert faults == []
        assert value is not None
    except msgspec.ValidationError:
        assert faults
    for fault in faults:
        error = TomlFile(Path("mine.toml"), text, table).error(fault)
        assert error.title.startswith("mine.toml")
        assert fault.why.startswith(("must be ", "is not a known key", "is missing", "has a mistake in "))
        assert "\x1b" not in str(error)


@settings(max_examples=60, deadline=None)
@given(tables)
def test_a_profile_is_an_endpoint_or_has_a_fault(table: dict[str, Any]) -> None:
    endpoint, faults = read_profile("mine", table, {})
    assert (endpoint is None) == bool(faults)


@settings(max_examples=60, deadline=None)
@given(tables)
def test_a_session_opens_or_names_what_is_wrong(table: dict[str, Any]) -> None:
    try:
        assert session_from_tables(table) is not None
    except BadField as problem:
        assert str(problem)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"parent": {"run": 1}}, "the session: runs 1: parent.run must be a string in quotes"),
        ({"parts": [{"choices": 3}]}, "the session: runs 1: parts has a mistake in entry 1"),
        ({"outcome": "x"}, "the session: runs 1: outcome must be one of complete, "),
        ({"timing": {"total": "x"}}, "the session: runs 1: timing.total must be a number"),
        ({"usage": 3}, "the session: runs 1: usage must be a table: [usage]"),
    ],
)
def test_a_run_names_the_key_at_fault(table: dict[str, Any], message: str) -> None:
    with pytest.raises(BadField) as caught:
        session_from_tables({"runs": [table]})
    assert str(caught.value).startswith(message)
