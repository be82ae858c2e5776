"""Writing endpoint profiles, and refusing those that could not be read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import tomli_w

from workbench.domain.endpoint import CommandKey, Endpoint, EnvironmentKey, Prices, Timeouts
from workbench.domain.errors import StorageError
from workbench.domain.parameters import Range
from workbench.storage.endpoint_files import is_endpoint_name, read_endpoint
from workbench.storage.tables import parse_table


def write_endpoint(endpoint: Endpoint) -> bytes:
    """A profile's file, from which `read_endpoint` gives the same endpoint."""
    return tomli_w.dumps(endpoint_table(endpoint)).encode()


def endpoint_table(endpoint: Endpoint) -> dict[str, object]:
    """What a profile's file says: all that differs from the defaults."""
    usual = Endpoint(endpoint.name, "")
    table: dict[str, object] = {}
    for one in fields(Endpoint):
        value = getattr(endpoint, one.name)
        if one.name in ("name", "key", "key_header") or value == getattr(usual, one.name):
            continue
        table[one.name] = _plain(value)
    if key := _key_table(endpoint):
        table["key"] = key
    # Tables go last, or the keys after them would belong to them.
    return dict(sorted(table.items(), key=lambda item: isinstance(item[1], dict)))


def _key_table(endpoint: Endpoint) -> dict[str, object]:
    table: dict[str, object] = {}
    match endpoint.key:
        case EnvironmentKey(variable):
            table["environment"] = variable
        case CommandKey(argv):
            table["command"] = list(argv)
        case None:
            return {}
    if endpoint.key_header != "Authorization":
        table["header"] = endpoint.key_header
    return table


def _plain(value: object) -> object:
    match value:
        case Timeouts(connect, read, write):
            return {"connect": connect, "read": read, "write": write}
        case Prices(prompt, completion, currency):
            return {"prompt": prompt, "completion": completion, "currency": currency}
        case Range(low, high):
            return [low, high]
        case Mapping():
            return {key: _plain(one) for key, one in value.items()}
        case frozenset():
            return sorted(value)
        case tuple():
            return list(value)
    return value


def check_endpoint(endpoint: Endpoint, path: Path) -> StorageError | None:
    """What keeps an endpoint from being written as a profile; None where nothing does."""
    if not is_endpoint_name(endpoint.name):
        return StorageError(
            "An endpoint needs a plain name",
            "",
            "Letters, digits, dots, dashes and underscores, beginning with a letter or digit.",
            path=str(path),
            key="name",
        )
    table = parse_table(write_endpoint(endpoint), path)
    read_endpoint(endpoint.name, table, lambda name: None)
    return table.problems[0] if table.problems else None
