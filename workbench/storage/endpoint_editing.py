"""Changing a person's endpoint profile in place: what they wrote around the changed values stays."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import StorageError
from workbench.storage.atomic import write_atomically
from workbench.storage.endpoint_files import read_endpoint
from workbench.storage.endpoint_writing import check_endpoint, endpoint_table
from workbench.storage.endpoints import EndpointList, delete_endpoint, endpoints_folder
from workbench.storage.folders import Folders
from workbench.storage.tables import parse_table
from workbench.storage.toml_editing import NotEditable, with_value

_Reading = Callable[[str], Endpoint | None]


def save_endpoint(
    folders: Folders, endpoint: Endpoint, loaded: EndpointList, *, was: str = "", like: str = ""
) -> Path:
    """Write a profile as the person's own, changing only what differs in the file that is there.

    `was` names the person's profile that this one takes the place of, if another; `like` names the
    program's profile whose habits a new file takes over. Raises StorageError, whose `key` is at fault,
    where the endpoint is none that could be read back, the name is another's, or a file cannot be written.
    """
    folder = endpoints_folder(folders)
    path = folder / f"{endpoint.name}.toml"
    if problem := check_endpoint(endpoint, path):
        raise problem
    was = was if was in loaded.own else ""
    if endpoint.name != was and path.exists():
        raise StorageError(
            f"name: there is an endpoint {endpoint.name} already",
            "",
            "Take another name, or edit that one.",
            path=str(path),
            key="name",
        )
    text = _read(folder / f"{was}.toml") if was else ""
    if not text and like in loaded.shipped:
        text = with_value("", ("like",), like)
    write_atomically(path, _edited(text, endpoint, loaded, path).encode())
    if was and was != endpoint.name:
        delete_endpoint(folders, was)
    return path


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "It is no UTF-8."
        raise StorageError(f"{path.name} cannot be read", why or "", path=str(path)) from None


def _edited(text: str, endpoint: Endpoint, loaded: EndpointList, path: Path) -> str:
    """The file's text with the endpoint's values."""

    def reading(text: str) -> Endpoint | None:
        return read_endpoint(endpoint.name, parse_table(text.encode(), path), loaded.shipped.get)

    try:
        for change in (_with_differences, _with_all):
            edited = change(text, endpoint, reading)
            if reading(edited) == endpoint:
                return edited
        why = "some of it would be lost"
    except NotEditable as problem:
        why = f"{problem} is written in a way of its own"
    raise StorageError(
        f"{path.name} cannot be changed here: {why}",
        "Nothing was changed.",
        "Edit the file by hand.",
        path=str(path),
    )


def _with_differences(text: str, endpoint: Endpoint, reading: _Reading) -> str:
    """The text with what the endpoint has otherwise than the file says."""
    current = reading(text)
    if current is None:
        # A new file without an address is no profile yet.
        text = with_value(text, ("base_url",), endpoint.base_url)
        current = reading(text)
    before, after = _values(current), _values(endpoint)
    # A table whose last value goes takes its header along, so what comes is written first.
    for key, value in after.items():
        if before.get(key) != value:
            text = with_value(text, key, value)
    for key in before:
        if key not in after:
            text = with_value(text, key, None)
            if key in _values(reading(text)):
                # Taken over from the profile that it is like.
                text = with_value(text, key, _usual(key))
    return text


def _with_all(text: str, endpoint: Endpoint, reading: _Reading) -> str:
    """The text with every value of the endpoint, which is like no other profile any more."""
    del reading
    wanted = _values(endpoint)
    for key, value in wanted.items():
        text = with_value(text, key, value)
    for key, _ in _flat(tomllib.loads(text)):
        if key not in wanted:
            text = with_value(text, key, None)
    return text


def _usual(key: tuple[str, ...]) -> object:
    """The default of a field as a file spells it; None for what no file can spell."""
    value: object = getattr(Endpoint("", ""), key[0]) if len(key) == 1 else None
    return list(value) if isinstance(value, frozenset | tuple) else value


def _values(endpoint: Endpoint | None) -> Mapping[tuple[str, ...], object]:
    """What a file would say of an endpoint, by key."""
    return {} if endpoint is None else dict(_flat(endpoint_table(endpoint)))


def _flat(table: Mapping[str, object]) -> Iterator[tuple[tuple[str, ...], object]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from (((name, inner), one) for inner, one in value.items())
        else:
            yield (name,), value
