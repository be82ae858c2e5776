"""Built-in and user presets as TOML files."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from itertools import chain, count
from pathlib import Path
from typing import Annotated, Any

import msgspec
import tomli_w
from msgspec import Struct

from workbench.domain.display import one_line
from workbench.domain.errors import BadValueError, StorageError
from workbench.domain.json_values import JsonValue, holds_null, parse_json
from workbench.domain.parameter_table import PARAMETERS, Kind
from workbench.domain.parameters import Parameters
from workbench.domain.preset import Preset
from workbench.storage.files import Folders, delete_file, toml_paths, write_atomically
from workbench.storage.toml_files import Fault, TomlFile, about, read_toml, typed, unknown_key

_SHIPPED = Path(__file__).parent / "shipped" / "presets"
_NO_SLUG = r"[^a-z0-9]+"
_LONGEST_NAME = 80
_KINDS: dict[Kind, dict[str, Any]] = {
    Kind.INTEGER: {"type": "integer"},
    Kind.NUMBER: {"type": "number"},
    Kind.SWITCH: {"type": "boolean"},
    Kind.TEXTS: {"type": "array", "items": {"type": "string"}},
    Kind.BIASES: {"type": "object", "additionalProperties": {"type": "number"}},
}
_PARAMETERS: dict[str, dict[str, Any]] = {
    parameter.name: {**_KINDS[parameter.kind], "description": parameter.help} for parameter in PARAMETERS
}
_PARAMETER_SCHEMA = {"properties": _PARAMETERS, "propertyNames": {"enum": list(_PARAMETERS)}}


class PresetFile(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The structure of a preset file."""

    name: Annotated[str, about("Name shown in lists; empty: the file's name.")] = ""
    note: Annotated[str, about("What it is good for.")] = ""
    endpoint: Annotated[str, about("Endpoint it is meant for; empty: the one in use.")] = ""
    model: Annotated[str, about("Model it is meant for; empty: the one in use.")] = ""
    extra: Annotated[
        dict[str, Any] | str,
        about("Further fields of the request, as they are sent.", title="a table, or a JSON object as text"),
    ] = {}
    parameters: Annotated[
        dict[str, Any],
        about("Parameters of the request; those left out are not sent.", extra_json_schema=_PARAMETER_SCHEMA),
    ] = {}


class PresetList(Struct, frozen=True):
    """All presets by name: the built-in ones first, in their order, then the user's by name."""

    presets: Mapping[str, Preset]
    problems: list[StorageError]
    """All problems in the user's files; invalid files are omitted."""
    files: Mapping[str, Path]
    """The files of user presets, by preset name; built-in presets have none."""
    broken: Mapping[str, StorageError]
    """The problem of each omitted preset, by preset name and by file name."""

    def named(self, name: str) -> Preset:
        """Return the preset with a name.

        Raises StorageError if it does not exist or the user's file for it is invalid; the built-in preset of
        that name is not used instead.
        """
        if name in self.broken and name not in self.files:
            raise self.broken[name]
        if name not in self.presets:
            near = get_close_matches(name, self.presets, 1)
            hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(self.presets)}."
            raise StorageError(f"There is no preset named {one_line(name, 40)!r}", "", hint)
        return self.presets[name]


def presets_folder(folders: Folders) -> Path:
    """Return the folder of user presets."""
    return folders.config / "presets"


def load_presets(folders: Folders) -> PresetList:
    """Load all presets; a user preset replaces the built-in one of the same name."""
    presets = {shipped.name: shipped for shipped in map(read_preset, toml_paths(_SHIPPED)[0])}
    paths, problems = toml_paths(presets_folder(folders))
    broken: dict[str, StorageError] = {}
    own: dict[str, Preset] = {}
    files: dict[str, Path] = {}
    for path in paths:
        names = {path.stem}
        try:
            file = read_toml(path)
            names.add(str(file.table.get("name", path.stem)).strip())
            preset = _preset(file)
            if preset.name in files:
                raise _twice(path, preset.name, files[preset.name].name)
        except StorageError as problem:
            problems.append(problem)
            broken |= dict.fromkeys(names, problem)
        else:
            own[preset.name] = preset
            files[preset.name] = path
    presets |= {name: own[name] for name in sorted(own, key=str.lower)}
    return PresetList(presets, problems, files, broken)


def read_preset(path: Path) -> Preset:
    """Read a preset file in any folder. Raises StorageError for its first fault, with the line."""
    return _preset(read_toml(path))


def _preset(file: TomlFile) -> Preset:
    found, faults = typed(file.table, PresetFile)
    if found is None or faults:
        raise file.error(faults[0])
    extra: object = found.extra
    if isinstance(extra, str):
        with suppress(ValueError):
            extra = parse_json(extra)
        if not isinstance(extra, dict):
            raise file.error(Fault(("extra",), "must be a table, or a JSON object as text"))
    # Dates become strings, because JSON has no dates.
    values: dict[str, JsonValue] = msgspec.to_builtins(found.parameters)
    try:
        parameters = Parameters.from_json(values, msgspec.to_builtins(extra))
    except BadValueError as problem:
        key = ("parameters", problem.field)
        if problem.field not in _PARAMETERS:
            raise file.error(unknown_key(key, _PARAMETERS)) from None
        why = problem.title.removeprefix(f"{problem.field}: ")
        raise file.error(Fault(key, why, problem.hint)) from None
    return Preset(
        name=found.name.strip() or file.path.stem,
        parameters=parameters,
        endpoint=found.endpoint,
        model=found.model,
        note=found.note,
    )


def write_preset(preset: Preset) -> bytes:
    """Return the bytes of a preset file. Raises StorageError if a text contains a lone surrogate."""
    extra = dict(preset.parameters.extra)
    file = PresetFile(
        name=preset.name,
        note=preset.note,
        endpoint=preset.endpoint,
        model=preset.model,
        extra=json.dumps(extra, ensure_ascii=False) if holds_null(extra) else extra,
        parameters=preset.parameters.to_json(),
    )
    try:
        return tomli_w.dumps(msgspec.to_builtins(file)).encode()
    except UnicodeEncodeError:
        raise StorageError(
            f"The preset {preset.name!r} cannot be written", "It contains half of a surrogate pair."
        ) from None


def save_preset(folders: Folders, preset: Preset) -> Path:
    """Write a user preset, replacing the one of the same name.

    Raises StorageError if the name is invalid or the file cannot be written.
    """
    preset = preset._replace(name=_checked(preset.name))
    path = load_presets(folders).files.get(preset.name) or _free_file(folders, preset.name)
    write_atomically(path, write_preset(preset))
    return path


def rename_preset(folders: Folders, name: str, new: str) -> Preset:
    """Rename a user preset, in the same file.

    Raises StorageError if it does not exist, the new name is invalid or taken, or the file cannot be written.
    """
    loaded = load_presets(folders)
    path = _own_file(loaded, name)
    new = _checked(new)
    if new != name and new in loaded.presets:
        raise StorageError(f"There is a preset named {new!r} already", "", "Choose another name.")
    preset = loaded.presets[name]._replace(name=new)
    write_atomically(path, write_preset(preset))
    return preset


def duplicate_preset(folders: Folders, name: str) -> Preset:
    """Copy a user or built-in preset to a user preset with an unused name.

    Raises StorageError if the preset does not exist or the file cannot be written.
    """
    return _save_new(folders, load_presets(folders).named(name))


def delete_preset(folders: Folders, name: str) -> None:
    """Delete a user preset; the built-in one of that name is used again.

    Raises StorageError if it does not exist or cannot be deleted.
    """
    delete_file(_own_file(load_presets(folders), name))


def export_preset(preset: Preset, path: Path) -> None:
    """Write a preset to any file. Raises StorageError if it cannot be written."""
    write_atomically(path, write_preset(preset))


def import_preset(folders: Folders, path: Path) -> Preset:
    """Import a file as a user preset, under an unused name if its own is taken.

    Raises StorageError if the file is not a preset, or the preset cannot be written.
    """
    return _save_new(folders, read_preset(path))


def _save_new(folders: Folders, preset: Preset) -> Preset:
    """Save a preset under its name, followed by a number if the name is taken."""
    taken = load_presets(folders).presets
    names = chain([preset.name], (f"{preset.name} {number}" for number in count(2)))
    preset = preset._replace(name=next(name for name in names if name not in taken))
    save_preset(folders, preset)
    return preset


def _checked(name: str) -> str:
    name = name.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise StorageError(
            "A preset needs a name", "", f"Use one line of 1 to {_LONGEST_NAME} visible characters."
        )
    return name


def _own_file(loaded: PresetList, name: str) -> Path:
    if loaded.named(name).name not in loaded.files:
        raise StorageError(f"The preset {name!r} is built in", "", "Duplicate it, and change the copy.")
    return loaded.files[name]


def _twice(path: Path, name: str, first: str) -> StorageError:
    return StorageError(
        f"{path.name}: there is a preset named {name!r} already",
        f"It is in {first}.",
        "Change the name in one of the files.",
        path=str(path),
    )


def _free_file(folders: Folders, name: str) -> Path:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    stem = re.sub(_NO_SLUG, "-", plain).strip("-") or "preset"
    stems = chain([stem], (f"{stem}-{number}" for number in count(2)))
    paths = (presets_folder(folders) / f"{free}.toml" for free in stems)
    return next(path for path in paths if not os.path.lexists(path))
