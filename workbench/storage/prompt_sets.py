"""Prompt sets: many prompts from one file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

from workbench.domain.errors import StorageError
from workbench.domain.prompt import PromptKind, TextsPrompt, prompt_from_editor

_USUAL_COLUMNS = ("prompt", "text", "input", "question")


def read_prompts(path: Path, column: str = "") -> tuple[str, ...]:
    """The prompts of a file, by its ending.

    `.jsonl` and `.ndjson` hold one JSON value a line: a string, or an object with the prompt under `column`;
    `.csv` and `.tsv` hold the prompt in `column` (by default one called prompt, text, input or question, or
    the only one). Any other file is text: prompts divided by lines `---` where it has one, else a line each.

    Raises StorageError with the file and the line at fault.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise StorageError(
            f"{path.name} cannot be read", error.strerror or str(error), path=str(path)
        ) from None
    except UnicodeDecodeError as error:
        raise StorageError(
            f"{path.name} is not UTF-8", f"Byte {error.start} belongs to no character.", path=str(path)
        ) from None
    match path.suffix.lower():
        case ".jsonl" | ".ndjson":
            prompts = tuple(_json_lines(path, text, column))
        case ".csv" | ".tsv":
            prompts = tuple(_rows(path, text, column))
        case _:
            prompts = _texts(text)
    if not prompts:
        raise StorageError(f"{path.name} holds no prompts", path=str(path))
    return prompts


def _texts(text: str) -> tuple[str, ...]:
    body = text.replace("\r\n", "\n")
    if "---" in body.split("\n"):
        divided = prompt_from_editor(PromptKind.TEXTS, body.removesuffix("\n"))
        assert isinstance(divided, TextsPrompt)
        return divided.texts
    return tuple(line for line in body.split("\n") if line.strip())


def _json_lines(path: Path, text: str, column: str) -> Iterator[str]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            raise _at(path, number, f"is no JSON: {error}") from None
        if isinstance(value, dict):
            names = (column,) if column else _USUAL_COLUMNS
            value = next((value[name] for name in names if name in value), None)
        if not isinstance(value, str):
            raise _at(path, number, f"holds no text under {column or ', '.join(_USUAL_COLUMNS)}")
        yield value


def _rows(path: Path, text: str, column: str) -> Iterator[str]:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    names = reader.fieldnames or []
    wanted = column or next((name for name in _USUAL_COLUMNS if name in names), "")
    if not wanted and len(names) == 1:
        wanted = names[0]
    if wanted not in names:
        known = ", ".join(names)
        raise _at(path, 1, f"has no column {wanted or 'prompt'!r}; it has: {known}")
    try:
        for row in reader:
            value = row[wanted]
            if value is None:
                raise _at(path, reader.line_num, f"has no value for {wanted!r}")
            yield value
    except csv.Error as error:
        raise _at(path, reader.line_num, f"is no CSV: {error}") from None


def _at(path: Path, line: int, why: str) -> StorageError:
    return StorageError(f"{path.name}: line {line} {why}", path=str(path), line=line)
