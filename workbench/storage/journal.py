"""Journals: sidecar files with the tokens of a streaming run, until the run is in the session file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from workbench.domain.choice import Columns
from workbench.domain.json_values import parse_json
from workbench.domain.run import Outcome, Run
from workbench.storage.files import open_regular
from workbench.storage.run_format import add_columns, header_to_table, run_from_table
from workbench.storage.token_columns import columns_to_table
from workbench.storage.toml_files import BadField
from workbench.storage.toml_text import parse, sound, toml_table


class Grown(NamedTuple):
    """New tokens of a choice."""

    choice: int
    revision: int
    start: int
    """Index of the first new token; 0 replaces all earlier tokens."""
    columns: Columns


class Increment(Struct, frozen=True):
    """A copy of the tokens that a run received since the previous increment, for the writing thread."""

    run: Run
    """The run, without its choices."""
    grown: tuple[Grown, ...]


class Increments:
    """Creates a run's increments; used in the thread that adds its tokens."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._have: dict[int, tuple[int, int]] = {}
        self._has_taken = False

    def take(self) -> Increment | None:
        """Return what changed since the last call, or None; the first call always returns an increment."""
        grown = _take_grown(self._run, self._have)
        if self._has_taken and not grown:
            return None
        self._has_taken = True
        return Increment(replace(self._run, choices={}, notes=list(self._run.notes)), grown)


def _take_grown(run: Run, have: dict[int, tuple[int, int]]) -> tuple[Grown, ...]:
    """Return the tokens that are not in `have` (revision and token count by choice), and update `have`."""
    grown: list[Grown] = []
    for choice in run.ordered:
        revision, count = have.get(choice.index, (choice.revision, 0))
        if revision != choice.revision:
            count = 0
        if count == 0 or count < len(choice):
            grown.append(Grown(choice.index, choice.revision, count, choice.columns(count)))
            have[choice.index] = choice.revision, len(choice)
    return tuple(grown)


class Journal:
    """Writes a run's journal: a header, increments, and the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = 0
        self._lines: list[dict[str, object]] = []
        """Lines that are not written yet."""
        self._have: dict[int, tuple[int, int]] = {}
        self._has_header = self._ended = False

    def progress(self, increment: Increment) -> None:
        """Write an increment. Raises OSError; the next call then writes it again."""
        self._take(increment.run, increment.grown)
        self._write()

    def _take(self, run: Run, grown: Iterable[Grown]) -> None:
        if not self._has_header:
            self._lines.append({"run": _header(run)})
            self._has_header = True
        for tokens in grown:
            columns = columns_to_table(tokens.columns)
            self._lines.append({"choice": tokens.choice, "start": tokens.start, **columns})
            self._have[tokens.choice] = tokens.revision, tokens.start + len(tokens.columns.texts)

    def end(self, run: Run) -> None:
        """Write the remaining tokens of a run that has ended, and its final header. Raises OSError."""
        if not self._ended:
            self._take(run, _take_grown(run, self._have))
            ends = [[choice.index, choice.finish_reason, choice.echoed] for choice in run.ordered]
            self._lines.append({"end": _header(run), "choices": ends})
            self._ended = True
        self._write()

    def appending_at(self, offset: int) -> None:
        """Write the offset in the session file at which the run will be appended. Raises OSError."""
        self._lines.append({"append": offset})
        self._write()

    def discard(self) -> None:
        """Delete the journal, because the run is in the session file."""
        with suppress(OSError):
            self._path.unlink()

    def _write(self) -> None:
        data = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in self._lines).encode()
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            # A failed write may have left an incomplete line at the end.
            os.ftruncate(handle, self._size)
            os.lseek(handle, self._size, os.SEEK_SET)
            write_all(handle, data)
        finally:
            os.close(handle)
        self._size += len(data)
        self._lines.clear()


def write_all(handle: int, data: bytes) -> None:
    """Write all bytes to an open file. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _header(run: Run) -> str:
    return sound("".join(toml_table(header_to_table(run))))


class Recovered(Struct, frozen=True):
    """The contents of a journal."""

    run: Run
    ended: bool
    """Whether the run had ended; otherwise the program ended while it was streaming."""
    offset: int | None
    """The offset in the session file at which it was to be appended; None if not reached."""


def read_journal(path: Path) -> Recovered | None:
    """Read a journal up to the first invalid line; None if it has no header. Raises OSError."""
    run: Run | None = None
    ended, offset = False, None
    with open_regular(path) as file, suppress(BadField, ValueError, TypeError):
        for line in file:
            entry: dict[str, Any] = msgspec.convert(parse_json(line), dict[str, Any])
            match entry:
                case {"run": str(header)}:
                    run = run_from_table(parse(header))
                case {"choice": int(index), "start": start} if run is not None:
                    if start == 0:
                        # All tokens were replaced.
                        run.choices.pop(index, None)
                    add_columns(run.choice(index), entry)
                case {"end": str(header), "choices": choices} if run is not None:
                    final = replace(run_from_table(parse(header)), choices=run.choices)
                    for index, finish_reason, echoed in choices:
                        choice = final.choice(index)
                        choice.finish_reason, choice.echoed = finish_reason, echoed
                    run, ended = final, True
                case {"append": int(size)}:
                    offset = size
                case _:
                    break
    if run is None:
        return None
    if not ended:
        run.outcome = Outcome.TRUNCATED
        run.total = max((choice.at[-1] for choice in run.choices.values() if len(choice)), default=0.0)
        run.note("recovered: the program ended while this was streaming")
    return Recovered(run, ended, offset)
