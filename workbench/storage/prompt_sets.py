"""Prompt sets: many prompts from one file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from workbench.domain.display import one_line, plural
from workbench.domain.errors import StorageError
from workbench.domain.json_values import parse_json
from workbench.domain.prompt import PromptKind, TextsPrompt, prompt_from_editor
from workbench.storage.files import file_error, read_text


class PromptRow(Struct, frozen=True):
    """A row of a prompt file; the first of these columns that exists holds the prompt."""

    prompt: str = ""
    text: str = ""
    input: str = ""
    question: str = ""


_USUAL_COLUMNS = PromptRow.__struct_fields__


def read_prompts(path: Path, column: str = "") -> tuple[str, ...]:
    """Read the prompts of a file; the file name's suffix determines the format.

    `.jsonl` and `.ndjson` hold a JSON value per line: a string, or an object with the prompt under `column`;
    `.csv` and `.tsv` hold the prompt in `column` (by default prompt, text, input or question, or the only
    column); the header determines the separator: comma, semicolon, tab or bar. Any other file is text with
    prompts separated by lines `---` if there are any, else one prompt per line.

    Raises StorageError with the file and, where known, the line.
    """
    text = read_text(path, is_pipe_allowed=True)
    match path.suffix.lower():
        case ".jsonl" | ".ndjson":
            prompts = tuple(_json_lines(path, text, column))
        case ".csv" | ".tsv":
            prompts = tuple(_rows(path, text, column))
        case _ if column:
            hint = "Only files named .jsonl, .ndjson, .csv or .tsv have columns."
            raise file_error(path, f"has no column {one_line(column, 40)!r}", "It is read as text.", hint)
        case _:
            prompts = _texts(text)
    if not prompts:
        raise file_error(path, "has no prompts")
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
            value = parse_json(line)
        except ValueError as error:
            raise _at(path, number, f"is not JSON: {error}") from None
        if isinstance(value, dict):
            names = (column,) if column else _USUAL_COLUMNS
            value = next((value[name] for name in names if name in value), None)
        if not isinstance(value, str):
            raise _at(path, number, f"has no text under {column or ', '.join(_USUAL_COLUMNS)}")
        yield value


def _rows(path: Path, text: str, column: str) -> Iterator[str]:
    # The limit is global to the csv module; no field is longer than the file.
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    text, separators = _separators(text, "\t" if path.suffix.lower() == ".tsv" else ",")
    headers = {separator: header for separator in separators if (header := _header(text, separator))}
    if not headers:
        raise _at(path, 1, "does not name columns")
    wanted = (column,) if column else _USUAL_COLUMNS

    def fitness(separator: str) -> tuple[bool, int]:
        return any(name in headers[separator] for name in wanted), len(headers[separator])

    separator = max(headers, key=fitness)
    names = headers[separator]
    found = [name for name in wanted if name in names] or (names if len(names) == 1 and not column else [])
    if not found:
        raise _at(path, 1, f"has no column {column or 'prompt'!r}; it has: {', '.join(names)}")
    index, line, is_header = names.index(found[0]), 1, True
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for row in reader:
            if row and not is_header:
                yield _value(path, line, row, names, index)
            is_header = is_header and not row
            line = reader.line_num + 1
    except csv.Error as error:
        raise _at(path, line, f"is not valid CSV: {error}") from None


def _separators(text: str, usual: str) -> tuple[str, str]:
    """Return the text, with a leading line `sep=;` blanked, and the possible separators."""
    first, _, others = text.partition("\n")
    declared = first.rstrip("\r")
    if len(declared) == 5 and declared.startswith("sep=") and declared[4] != '"':
        return f"\n{others}", declared[4]
    return text, usual + "".join(separator for separator in ",;\t|" if separator != usual)


def _header(text: str, separator: str) -> list[str]:
    """Return the column names; empty if the first record is invalid with this separator."""
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        return [name.strip() for name in next(filter(None, rows), [])]
    except csv.Error:
        return []


def _value(path: Path, line: int, row: list[str], names: list[str], index: int) -> str:
    if len(row) > len(names):
        counts = f"{plural(len(row), 'value')} for {plural(len(names), 'column')}"
        raise _at(path, line, f"has {counts}; a text that holds the separator needs quotation marks")
    if len(row) <= index:
        raise _at(path, line, f"has no value for {names[index]!r}")
    return row[index]


def _at(path: Path, line: int, why: str) -> StorageError:
    return StorageError(f"{path.name}: line {line} {why}", path=str(path), line=line)
