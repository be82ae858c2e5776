"""Every field of an endpoint's profile as one line of text, for the form and the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

from msgspec import Struct

from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.storage.endpoint_profile import (
    KEY_HINT,
    NAME_HINT,
    EndpointFile,
    is_variable,
    profile_of,
    profile_table,
    read_profile,
)
from workbench.storage.toml_editing import changed
from workbench.storage.toml_files import schema_of

_SWITCHES = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}
_KEY_BEGINNING = re.compile(
    r"(sk|pk|rk|gsk|hf|xai|nvapi|glpat|ghp|r8|pplx|fw|tgp|csk)[-_]\w{4,}|AIza\w{8,}|bearer\s", re.IGNORECASE
)


class EndpointField(Struct, frozen=True):
    """One thing to set of an endpoint."""

    name: str
    """As the file spells it, with its table's name and a dot before it: `key.environment`."""
    help: str
    schema: Mapping[str, Any]
    """The JSON schema of its value."""


def _fields(schema: Mapping[str, Any], table: str = "") -> Iterator[EndpointField]:
    for name, one in schema["properties"].items():
        if name in ("key", "timeouts", "prices"):
            yield from _fields(one, f"{name}.")
        elif name != "like":
            yield EndpointField(table + name, one["description"], one)


ENDPOINT_FIELDS: tuple[EndpointField, ...] = (
    EndpointField("name", NAME_HINT, {"type": "string"}),
    *_fields(schema_of(EndpointFile)),
)
"""Every field, in the order in which a person sets them."""

_BY_NAME = {one.name: one for one in ENDPOINT_FIELDS}


def looks_like_key(text: str) -> bool:
    """Whether a text is more likely an API key than the name of a variable that holds one."""
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
    words = re.split(r"[\s:;,=]+", text)
    return any(len(word) >= 16 and re.search(r"\d", word) and _KEY_BEGINNING.match(word) for word in words)


def texts_of(endpoint: Endpoint) -> dict[str, str]:
    """An endpoint's fields as text, by name."""
    file = profile_of(endpoint)
    values = {one.name: reduce(getattr, one.name.split("."), file) for one in ENDPOINT_FIELDS[1:]}
    return {"name": endpoint.name, **{name: _text(value) for name, value in values.items()}}


def with_texts(endpoint: Endpoint, texts: Mapping[str, str]) -> Endpoint:
    """An endpoint with fields set to what texts mean, by name.

    Raises BadValueError, which names the field, for an unknown field or a text that is not a value of it.
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
    found = [(field_of(one.name), one) for one in faults]
    field, fault = next((one for one in found if one[0] in texts), found[0])
    raise BadValueError(f"{fault.name} {fault.why}", hint=fault.hint, field=field)


def field_of(key: str) -> str:
    """The field that a key of a profile's file belongs to; empty where there is none."""
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
            return "; ".join(f"{name} = {_text(one)}" for name, one in value.items())
    return str(value)


def _value(text: str, schema: Mapping[str, Any]) -> Any:
    """What a text means; the text itself where it means nothing of that type."""
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
            return [_value(one, {"type": "number"}) for one in re.split(r"\s*(?:…|\.\.\.?|,)\s*", text)]
        case {"type": "object", "additionalProperties": inner}:
            pairs = [
                re.split(r"\s*[=:]\s*", one.strip(), maxsplit=1) for one in text.split(";") if one.strip()
            ]
            if not all(len(pair) == 2 and all(pair) for pair in pairs):
                raise ValueError("must look like name = value; name = value")
            return {name: _value(value, inner) for name, value in pairs}
    return text
