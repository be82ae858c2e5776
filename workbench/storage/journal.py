"""Journals: a streaming run's tokens, written beside its session as they come, until the file has the run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from workbench.domain.choice import Columns
from workbench.domain.json_values import parse_json
from workbench.domain.run import Outcome, Run
from workbench.storage.run_format import add_columns, header_to_table, run_from_table
from workbench.storage.token_columns import columns_to_table
from workbench.storage.toml_files import BadField
from workbench.storage.toml_text import parse, sound, toml_table


class Grown(NamedTuple):
    """Tokens that a choice received."""

    choice: int
    revision: int
    start: int
    """Its first token among them; from 0 they take the place of all before."""
    columns: Columns


class Increment(Struct, frozen=True):
    """What a run received since the increment before, copied, for another thread to write."""

    run: Run
    """The run without its choices."""
    grown: tuple[Grown, ...]


class Increments:
    """Copies what a run receives; for the thread on which its columns grow."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._have: dict[int, tuple[int, int]] = {}
        self._began = False

    def take(self) -> Increment | None:
        """What came since the last call, the run itself with the first one; None where nothing did."""
        grown = _take_grown(self._run, self._have)
        if self._began and not grown:
            return None
        self._began = True
        return Increment(replace(self._run, choices={}, notes=list(self._run.notes)), grown)


def _take_grown(run: Run, have: dict[int, tuple[int, int]]) -> tuple[Grown, ...]:
    """What choices hold beyond `have`, which is revision and count by choice and is brought up to date."""
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
    """Writes one run's journal: a header, increments of its columns, and its end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = 0
        self._lines: list[dict[str, object]] = []
        """What could not be written yet."""
        self._have: dict[int, tuple[int, int]] = {}
        self._began = self._ended = False

    def progress(self, increment: Increment) -> None:
        """Write an increment. Raises OSError; it is written with the next call then."""
        self._take(increment.run, increment.grown)
        self._write()

    def _take(self, run: Run, grown: Iterable[Grown]) -> None:
        if not self._began:
            self._lines.append({"run": _header(run)})
            self._began = True
        for tokens in grown:
            columns = columns_to_table(tokens.columns)
            self._lines.append({"choice": tokens.choice, "start": tokens.start, **columns})
            self._have[tokens.choice] = tokens.revision, tokens.start + len(tokens.columns.texts)

    def end(self, run: Run) -> None:
        """Write what the increments lack of a run that is over, and how it ended. Raises OSError."""
        if not self._ended:
            self._take(run, _take_grown(run, self._have))
            ends = [[choice.index, choice.finish_reason, choice.echoed] for choice in run.ordered]
            self._lines.append({"end": _header(run), "choices": ends})
            self._ended = True
        self._write()

    def appending_at(self, offset: int) -> None:
        """Write where in the session's file the run is about to be appended. Raises OSError."""
        self._lines.append({"append": offset})
        self._write()

    def discard(self) -> None:
        """Remove the journal: its run is in the session's file."""
        with suppress(OSError):
            self._path.unlink()

    def _write(self) -> None:
        data = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in self._lines).encode()
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            # A failed write may have left a part behind the last good line.
            os.ftruncate(handle, self._size)
            os.lseek(handle, self._size, os.SEEK_SET)
            write_all(handle, data)
        finally:
            os.close(handle)
        self._size += len(data)
        self._lines.clear()


def write_all(handle: int, data: bytes) -> None:
    """Write all of some bytes to an open file. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _header(run: Run) -> str:
    return sound("".join(toml_table(header_to_table(run))))


class Recovered(Struct, frozen=True):
    """What a journal held."""

    path: Path
    run: Run
    ended: bool
    """Whether the run was over; else the program ended while it streamed."""
    offset: int | None
    """Where in the session's file it was being appended, if it got that far."""


def read_journal(path: Path) -> Recovered | None:
    """What a journal holds up to the first line that is not whole; None where not even a run began.

    Raises OSError.
    """
    run: Run | None = None
    ended, offset = False, None
    with path.open("rb") as file, suppress(BadField, ValueError, TypeError, KeyError):
        for line in file:
            entry = parse_json(line)
            if not isinstance(entry, dict):
                break
            if "run" in entry:
                run = _run_of(entry["run"])
            elif run is not None and "choice" in entry:
                _extend(run, entry)
            elif run is not None and "end" in entry:
                run = _ended(run, entry)
                ended = True
            elif isinstance(at := entry.get("append"), int):
                offset = at
    if run is None:
        return None
    if not ended:
        run.outcome = Outcome.TRUNCATED
        run.total = max((choice.at[-1] for choice in run.choices.values() if len(choice)), default=0.0)
        run.note("recovered: the program ended while this was streaming")
    return Recovered(path, run, ended, offset)


def _run_of(header: str) -> Run:
    return run_from_table(parse(header))


def _extend(run: Run, entry: dict[str, object]) -> None:
    index, start = entry.pop("choice"), entry.pop("start")
    if not isinstance(index, int):
        raise TypeError
    if start == 0:
        # Tokens were replaced as a whole.
        run.choices.pop(index, None)
    add_columns(run.choice(index), entry)


def _ended(run: Run, entry: dict[str, object]) -> Run:
    ended = _run_of(str(entry["end"]))
    ended.choices = run.choices
    choices = entry["choices"]
    if isinstance(choices, list):
        for index, finish_reason, echoed in choices:
            choice = ended.choice(index)
            choice.finish_reason, choice.echoed = finish_reason, echoed
    return ended
