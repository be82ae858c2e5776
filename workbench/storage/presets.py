"""Presets as TOML files: the program's own, and the person's, which may be handed to someone else."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import tomli_w

from workbench.domain.errors import BadValueError, StorageError
from workbench.domain.json_values import JsonObject, JsonValue, holds_null
from workbench.domain.preset import Preset
from workbench.domain.request import Parameters
from workbench.storage.atomic import write_atomically
from workbench.storage.folders import Folders
from workbench.storage.tables import Table, read_table

_SHIPPED = Path(__file__).parent / "shipped" / "presets"
_NO_SLUG = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class PresetList:
    """All presets by name: the program's own first, in their order, then the person's by name."""

    presets: Mapping[str, Preset]
    problems: list[StorageError]
    """Everything wrong with the person's files; such a file is left out and left alone."""
    files: Mapping[str, Path]
    """The files of the person's presets, by name; a preset without one is the program's own."""


def presets_folder(folders: Folders) -> Path:
    """Where a person's presets are."""
    return folders.config / "presets"


def load_presets(folders: Folders) -> PresetList:
    """Every preset there is; a person's stands in the place of the program's of that name."""
    problems: list[StorageError] = []
    presets: dict[str, Preset] = {}
    files: dict[str, Path] = {}
    for path in sorted(_SHIPPED.glob("*.toml")):
        preset = read_preset(path)
        presets[preset.name] = preset
    own: dict[str, Preset] = {}
    for path in sorted(presets_folder(folders).glob("*.toml")):
        try:
            preset = read_preset(path)
        except StorageError as problem:
            problems.append(problem)
            continue
        if preset.name in files:
            first = files[preset.name].name
            problems.append(_twice(path, preset.name, first))
            continue
        own[preset.name] = preset
        files[preset.name] = path
    for name in sorted(own, key=str.lower):
        presets[name] = own[name]
    return PresetList(MappingProxyType(presets), problems, MappingProxyType(files))


def read_preset(path: Path) -> Preset:
    """The preset that a file holds, wherever it is.

    Raises StorageError, with the line, for the first thing that is wrong.
    """
    table = read_table(path)
    preset = Preset(
        name=table.text("name", path.stem).strip() or path.stem,
        parameters=_parameters(table),
        endpoint=table.text("endpoint"),
        model=table.text("model"),
        note=table.text("note"),
    )
    table.close()
    if table.problems:
        raise table.problems[0]
    return preset


def _parameters(table: Table) -> Parameters:
    inner = table.table("parameters")
    extra = _extra(table)
    if inner is None:
        return Parameters(extra=extra)
    values: dict[str, JsonValue] = {}
    for name in inner.names:
        value = inner.json(name)
        try:
            Parameters.from_json({name: value})
        except BadValueError as problem:
            inner.complain(name, problem.title.removeprefix(f"{name}: "), problem.hint)
        else:
            values[name] = value
    return Parameters.from_json(values, extra)


def _extra(table: Table) -> JsonObject:
    """Further JSON: a table, or JSON text where it holds null, which TOML cannot."""
    value = table.json("extra")
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = ""
    if isinstance(value, Mapping):
        return value
    if value is not None:
        table.complain("extra", "must be a table, or a JSON object as text")
    return {}


def write_preset(preset: Preset) -> bytes:
    """A preset's file. Raises StorageError where it holds what no file can (half of a character)."""
    table: dict[str, object] = {"name": preset.name}
    for name, text in (("note", preset.note), ("endpoint", preset.endpoint), ("model", preset.model)):
        if text:
            table[name] = text
    extra = dict(preset.parameters.extra)
    if extra and holds_null(extra):
        table["extra"] = json.dumps(extra, ensure_ascii=False)
    if parameters := preset.parameters.to_json():
        table["parameters"] = parameters
    if extra and "extra" not in table:
        table["extra"] = extra
    try:
        return tomli_w.dumps(table).encode()
    except UnicodeEncodeError:
        raise StorageError(
            f"The preset {preset.name!r} cannot be written", "It holds half of a surrogate pair."
        ) from None


def save_preset(folders: Folders, preset: Preset) -> Path:
    """Write a person's preset; one of that name is replaced.

    Raises StorageError where the name is none or the file cannot be written.
    """
    preset = replace(preset, name=_checked(preset.name))
    path = load_presets(folders).files.get(preset.name) or _free_file(folders, preset.name)
    write_atomically(path, write_preset(preset))
    return path


def rename_preset(folders: Folders, name: str, new: str) -> Preset:
    """Give a person's preset another name; its file stays.

    Raises StorageError where there is none of that name, or there is one of the new name already.
    """
    loaded = load_presets(folders)
    path = _own_file(loaded, name)
    new = _checked(new)
    if new != name and new in loaded.presets:
        raise _taken(new)
    preset = replace(loaded.presets[name], name=new)
    write_atomically(path, write_preset(preset))
    return preset


def duplicate_preset(folders: Folders, name: str, new: str = "") -> Preset:
    """Write a copy of any preset, also one of the program's, as the person's own.

    An empty `new` finds a free name. Raises StorageError where there is none of that name, or there is one
    of the new name already.
    """
    loaded = load_presets(folders)
    if name not in loaded.presets:
        raise _unknown(name)
    new = _checked(new) if new else _free_name(loaded, name)
    if new in loaded.presets:
        raise _taken(new)
    preset = replace(loaded.presets[name], name=new)
    save_preset(folders, preset)
    return preset


def delete_preset(folders: Folders, name: str) -> None:
    """Remove a person's preset; the program's of that name comes back.

    Raises StorageError where there is none, or it cannot be removed.
    """
    path = _own_file(load_presets(folders), name)
    try:
        path.unlink()
    except OSError as error:
        raise StorageError(
            f"{path.name} cannot be removed", error.strerror or str(error), path=str(path)
        ) from None


def export_preset(preset: Preset, path: Path) -> None:
    """Write a preset to a file to hand on. Raises StorageError where it cannot be written."""
    write_atomically(path, write_preset(preset))


def import_preset(folders: Folders, path: Path) -> Preset:
    """Take a preset from a file as the person's own, under a free name where its own is taken.

    Raises StorageError where the file is no preset or it cannot be written.
    """
    preset = read_preset(path)
    loaded = load_presets(folders)
    if preset.name in loaded.presets:
        preset = replace(preset, name=_free_name(loaded, preset.name))
    save_preset(folders, preset)
    return preset


def _checked(name: str) -> str:
    name = name.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise StorageError(
            "A preset needs a name", "", f"One line of 1 to {_LONGEST_NAME} characters that can be seen."
        )
    return name


def _own_file(loaded: PresetList, name: str) -> Path:
    if name in loaded.files:
        return loaded.files[name]
    if name in loaded.presets:
        raise StorageError(
            f"The preset {name!r} is the program's own", "", "Duplicate it, and change the copy."
        )
    raise _unknown(name)


def _unknown(name: str) -> StorageError:
    return StorageError(f"There is no preset named {name!r}")


def _taken(name: str) -> StorageError:
    return StorageError(f"There is a preset named {name!r} already", "", "Choose another name.")


def _twice(path: Path, name: str, first: str) -> StorageError:
    return StorageError(
        f"{path.name}: there is a preset named {name!r} already",
        f"It is in {first}.",
        "Change the name in one of the files.",
        path=str(path),
    )


def _free_name(loaded: PresetList, name: str) -> str:
    number = 2
    while f"{name} {number}" in loaded.presets:
        number += 1
    return f"{name} {number}"


def _free_file(folders: Folders, name: str) -> Path:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    stem = _NO_SLUG.sub("-", plain).strip("-") or "preset"
    folder = presets_folder(folders)
    path, number = folder / f"{stem}.toml", 2
    while path.exists():
        path, number = folder / f"{stem}-{number}.toml", number + 1
    return path
