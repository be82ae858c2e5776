"""Edit an endpoint profile as text fields, and save it without losing comments or order in the file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

from msgspec import Struct

from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError, StorageError
from workbench.storage.endpoint_list import EndpointList, delete_endpoint, endpoints_folder
from workbench.storage.endpoint_profile import (
    KEY_HINT,
    NAME_HINT,
    EndpointFile,
    is_endpoint_name,
    is_variable,
    profile_of,
    profile_table,
    read_profile,
)
from workbench.storage.files import Folders, file_error, is_missing, write_atomically
from workbench.storage.toml_editing import NotEditable, changed, flat, rewritten
from workbench.storage.toml_files import TomlFile, read_toml, schema_of
from workbench.storage.toml_text import parse

_SWITCHES = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}
_KEY_BEGINNING = re.compile(
    r"(sk|pk|rk|gsk|hf|xai|nvapi|glpat|ghp|r8|pplx|fw|tgp|csk)[-_]\w{4,}|AIza\w{8,}|bearer\s", re.IGNORECASE
)


class EndpointField(Struct, frozen=True):
    """An editable field of an endpoint."""

    name: str
    """The key in the file, with its table's name (`key.environment`)."""
    help: str
    schema: Mapping[str, Any]
    """The JSON schema of its value."""


def _fields(schema: Mapping[str, Any], table: str = "") -> Iterator[EndpointField]:
    for name, inner in schema["properties"].items():
        if name in ("key", "timeouts", "prices"):
            yield from _fields(inner, f"{name}.")
        elif name != "like":
            yield EndpointField(table + name, inner["description"], inner)


ENDPOINT_FIELDS: tuple[EndpointField, ...] = (
    EndpointField("name", NAME_HINT, {"type": "string"}),
    *_fields(schema_of(EndpointFile)),
)
"""All fields, in the order of the form."""

_BY_NAME = {field.name: field for field in ENDPOINT_FIELDS}


def looks_like_key(text: str) -> bool:
    """Whether a text is more likely an API key than the name of an environment variable."""
    if _KEY_BEGINNING.match(text):
        return True
    has_digits = any(map(str.isdigit, text))
    if is_variable(text):
        return len(text) >= 20 and has_digits and any(map(str.islower, text))
    return len(text) >= 16 and has_digits and not any(map(str.isspace, text))


def _holds_key(name: str, text: str) -> bool:
    match name:
        case "key.environment":
            return looks_like_key(text)
        case "key.command":
            return any(map(_KEY_BEGINNING.match, re.split(r"[\s'\"]+", text)))
    parts = re.split(r"[\s:;,=]+", text)
    return any(len(part) >= 16 and re.search(r"\d", part) and _KEY_BEGINNING.match(part) for part in parts)


def texts_of(endpoint: Endpoint) -> dict[str, str]:
    """Return an endpoint's fields as text, by field name."""
    file = profile_of(endpoint)
    values = {field.name: reduce(getattr, field.name.split("."), file) for field in ENDPOINT_FIELDS[1:]}
    return {"name": endpoint.name, **{name: _text(value) for name, value in values.items()}}


def with_texts(endpoint: Endpoint, texts: Mapping[str, str]) -> Endpoint:
    """Return the endpoint with fields set from texts by field name.

    Raises BadValueError, which names the field, for an unknown field or an invalid value.
    """
    table, before = profile_table(endpoint), texts_of(endpoint)
    for name, typed in texts.items():
        if name not in _BY_NAME:
            raise BadValueError(
                f"{name} is not a field of an endpoint", hint=f"Known: {', '.join(_BY_NAME)}.", field=name
            )
        text = typed.strip().removeprefix("$" if name == "key.environment" else "")
        if text == before[name]:
            continue
        if _holds_key(name, text):
            what = f"{name}: that looks like a key, so it was not taken"
            raise BadValueError(what, hint=KEY_HINT, field=name)
        try:
            value = _value(text, _BY_NAME[name].schema) if text else None
        except ValueError as problem:
            raise BadValueError(f"{name} {problem}", field=name) from None
        if name != "name":
            table = changed(table, name.split("."), value)
    taken, faults = read_profile(texts.get("name", endpoint.name).strip(), table, {})
    if taken is not None:
        return taken
    found = [(field_of(wrong.name), wrong) for wrong in faults]
    field, fault = next((pair for pair in found if pair[0] in texts), found[0])
    raise BadValueError(f"{fault.name} {fault.why}", hint=fault.hint, field=field)


def field_of(key: str) -> str:
    """Return the field that a key of the profile belongs to; empty if there is none."""
    return next((name for name in _BY_NAME if f"{key}.".startswith(f"{name}.")), "")


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float():
            return str(int(value)) if value.is_integer() else repr(value)
        case [int() | float() as low, int() | float() as high]:
            return f"{_text(low)} … {_text(high)}"
        case list():
            return ", ".join(map(_text, value))
        case Mapping():
            return "; ".join(f"{name} = {_text(item)}" for name, item in value.items())
    return str(value)


def _value(text: str, schema: Mapping[str, Any]) -> Any:
    """Parse a text by its JSON schema; return the text itself if it does not fit the type."""
    match schema:
        case {"anyOf": [first, *_]}:
            return _value(text, first)
        case {"type": "boolean"}:
            return _SWITCHES.get(text.lower(), text)
        case {"type": "integer" | "number"}:
            try:
                return float(text) if re.search(r"\D", text) else int(text)
            except ValueError:
                return text
        case {"type": "array", "items": {"type": "string"}}:
            return list(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))
        case {"type": "array"}:
            return [_value(part, {"type": "number"}) for part in re.split(r"\s*(?:…|\.\.\.?|,)\s*", text)]
        case {"type": "object", "additionalProperties": inner}:
            entries = filter(None, map(str.strip, text.split(";")))
            pairs = [re.split(r"\s*[=:]\s*", entry, maxsplit=1) for entry in entries]
            if not all(len(pair) == 2 and all(pair) for pair in pairs):
                raise ValueError("must look like name = value; name = value")
            return {name: _value(value, inner) for name, value in pairs}
    return text


def save_endpoint(
    folders: Folders, endpoint: Endpoint, loaded: EndpointList, *, was: str = "", like: str = ""
) -> Path:
    """Write a user profile; in an existing file, change only the values that differ.

    `was` is the name of the user profile being edited or renamed; `like` is the built-in profile that a new
    file refers to for its settings. Raises StorageError, with the invalid key as `key`, if the endpoint could
    not be read back, the name is invalid or taken, or a file cannot be written.
    """
    folder = endpoints_folder(folders)
    path = folder / f"{endpoint.name}.toml"
    if not is_endpoint_name(endpoint.name):
        raise StorageError("An endpoint needs a plain name", "", NAME_HINT, path=str(path), key="name")
    table = profile_table(endpoint)
    if faults := read_profile(endpoint.name, table, {})[1]:
        raise TomlFile(path, "", table).error(faults[0])
    was = was if was in loaded.own else ""
    if endpoint.name != was and not is_missing(path):
        raise StorageError(
            f"name: there is an endpoint {endpoint.name} already",
            "",
            "Take another name, or edit that one.",
            path=str(path),
            key="name",
        )
    text = read_toml(folder / f"{was}.toml").text if was else ""
    if not text and like in loaded.shipped:
        text = rewritten("", {"like": like})
    write_atomically(path, _edited(text, endpoint, loaded.shipped, path).encode())
    if was and was != endpoint.name:
        delete_endpoint(folders, was)
    return path


def _edited(text: str, endpoint: Endpoint, shipped: Mapping[str, Endpoint], path: Path) -> str:
    """Return the file's text with the endpoint's values. Raises StorageError."""
    try:
        # `like` is dropped if it would restore a value that the endpoint does not have.
        table = parse(text)
        for start in (table, changed(table, ("like",), None)):
            wanted = _with_differences(start, endpoint, shipped)
            if read_profile(endpoint.name, wanted, shipped)[0] == endpoint:
                return rewritten(text, wanted)
        why = "some of it would be lost"
    except NotEditable as problem:
        why = f"{problem} cannot be changed without touching the rest"
    raise file_error(path, f"cannot be changed here: {why}", "Nothing was changed.", "Edit the file by hand.")


def _with_differences(
    table: dict[str, Any], endpoint: Endpoint, shipped: Mapping[str, Endpoint]
) -> dict[str, Any]:
    """Return a profile's table with the values that differ from the endpoint's replaced."""
    # A new file is not a valid profile until it has a base URL.
    if not (before := _values(table, endpoint.name, shipped)):
        table = changed(table, ("base_url",), endpoint.base_url)
        before = _values(table, endpoint.name, shipped)
    after = dict(flat(profile_table(endpoint)))
    for key, value in after.items():
        if before.get(key) != value:
            table = changed(table, key, value)
    for key in (key for key in before if key not in after):
        table = changed(table, key, None)
        if key in _values(table, endpoint.name, shipped):
            # The value comes from the `like` profile; override it with the default.
            table = changed(table, key, getattr(EndpointFile(""), key[0]) if len(key) == 1 else None)
    return table


def _values(
    table: Mapping[str, Any], name: str, shipped: Mapping[str, Endpoint]
) -> dict[tuple[str, ...], object]:
    """Return the values of a profile by key, with those of its `like` profile; empty if it is invalid."""
    endpoint = read_profile(name, table, shipped)[0]
    return {} if endpoint is None else dict(flat(profile_table(endpoint)))
