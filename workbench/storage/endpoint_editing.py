"""Changing a person's endpoint profile in place: what they wrote around the changed values stays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import StorageError
from workbench.storage.endpoint_list import EndpointList, delete_endpoint, endpoints_folder
from workbench.storage.endpoint_profile import (
    NAME_HINT,
    EndpointFile,
    is_endpoint_name,
    profile_table,
    read_profile,
)
from workbench.storage.files import write_atomically
from workbench.storage.folders import Folders
from workbench.storage.quick_toml import parse
from workbench.storage.toml_editing import NotEditable, with_value
from workbench.storage.toml_files import TomlFile, read_toml


def save_endpoint(
    folders: Folders, endpoint: Endpoint, loaded: EndpointList, *, was: str = "", like: str = ""
) -> Path:
    """Write a profile as the person's own, changing only what differs in the file that is there.

    `was` names the person's profile that this one takes the place of, if another; `like` names the built-in
    profile whose settings a new file takes over. Raises StorageError, whose `key` is at fault, where the
    endpoint could not be read back, the name is another's, or a file cannot be written.
    """
    folder = endpoints_folder(folders)
    path = folder / f"{endpoint.name}.toml"
    if not is_endpoint_name(endpoint.name):
        raise StorageError("An endpoint needs a plain name", "", NAME_HINT, path=str(path), key="name")
    table = profile_table(endpoint)
    if faults := read_profile(endpoint.name, table, {})[1]:
        raise TomlFile(path, "", table).error(faults[0])
    was = was if was in loaded.own else ""
    if endpoint.name != was and path.exists():
        raise StorageError(
            f"name: there is an endpoint {endpoint.name} already",
            "",
            "Take another name, or edit that one.",
            path=str(path),
            key="name",
        )
    text = read_toml(folder / f"{was}.toml").text if was else ""
    if not text and like in loaded.shipped:
        text = with_value("", ("like",), like)
    write_atomically(path, _edited(text, endpoint, loaded.shipped, path).encode())
    if was and was != endpoint.name:
        delete_endpoint(folders, was)
    return path


def _edited(text: str, endpoint: Endpoint, shipped: Mapping[str, Endpoint], path: Path) -> str:
    """The file's text with the endpoint's values."""
    try:
        # A value that the profile it is like would bring back needs a profile without `like`.
        for start in (text, with_value(text, ("like",), None)):
            edited = _with_differences(start, endpoint, shipped)
            if _read(edited, endpoint.name, shipped) == endpoint:
                return edited
        why = "some of it would be lost"
    except NotEditable as problem:
        why = f"{problem} cannot be changed without touching the rest"
    raise StorageError(
        f"{path.name} cannot be changed here: {why}",
        "Nothing was changed.",
        "Edit the file by hand.",
        path=str(path),
    )


def _read(text: str, name: str, shipped: Mapping[str, Endpoint]) -> Endpoint | None:
    return read_profile(name, parse(text), shipped)[0]


def _with_differences(text: str, endpoint: Endpoint, shipped: Mapping[str, Endpoint]) -> str:
    """The text with the values in which the endpoint differs from the file."""
    # A new file without an address is not a profile yet.
    current = _read(text, endpoint.name, shipped)
    if current is None:
        text = with_value(text, ("base_url",), endpoint.base_url)
        current = _read(text, endpoint.name, shipped)
    before, after = _values(current), _values(endpoint)
    # A table whose last value goes takes its header along, so what comes is written first.
    for key, value in after.items():
        if before.get(key) != value:
            text = with_value(text, key, value)
    for key in before:
        if key not in after:
            text = with_value(text, key, None)
            if key in _values(_read(text, endpoint.name, shipped)):
                # Taken over from the profile that it is like.
                default = getattr(EndpointFile(""), key[0]) if len(key) == 1 else None
                text = with_value(text, key, default)
    return text


def _values(endpoint: Endpoint | None) -> dict[tuple[str, ...], object]:
    """What a file would say of an endpoint, by key."""
    return {} if endpoint is None else dict(_flat(profile_table(endpoint)))


def _flat(table: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], object]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from (((name, inner), inner_value) for inner, inner_value in value.items())
        else:
            yield (name,), value
