"""Journals: a streaming run's tokens, written beside its session as they come, until the file has the run."""

from __future__ import annotations

import json
import os
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from workbench.domain.run import Outcome, Run
from workbench.storage.fields import BadField, Fields
from workbench.storage.run_format import add_columns, header_to_table, run_from_table
from workbench.storage.token_columns import columns_to_table
from workbench.storage.toml_text import sound, toml_table


class Journal:
    """Writes one run's journal: a header, increments of its columns, and its end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = 0
        self._written: dict[int, tuple[int, int]] = {}
        self._began = self._ended = False

    def progress(self, run: Run) -> None:
        """Write what came since the last call. Raises OSError; the next call tries the same again."""
        lines: list[dict[str, object]] = [] if self._began else [{"run": _header(run)}]
        written = dict(self._written)
        for choice in run.ordered:
            revision, count = written.get(choice.index, (choice.revision, 0))
            if revision != choice.revision:
                count = 0
            if count == 0 or count < len(choice):
                columns = columns_to_table(choice.columns(count))
                lines.append({"choice": choice.index, "start": count, **columns})
                written[choice.index] = (choice.revision, len(choice))
        if lines:
            self._write(lines)
            self._written, self._began = written, True

    def end(self, run: Run) -> None:
        """Write that the run is over, and how. Raises OSError."""
        self.progress(run)
        if not self._ended:
            ends = [[one.index, one.finish_reason, one.echoed] for one in run.ordered]
            self._write([{"end": _header(run), "choices": ends}])
            self._ended = True

    def appending_at(self, offset: int) -> None:
        """Write where in the session's file the run is about to be appended. Raises OSError."""
        self._write([{"append": offset}])

    def discard(self) -> None:
        """Remove the journal: its run is in the session's file."""
        with suppress(OSError):
            self._path.unlink()

    def _write(self, lines: list[dict[str, object]]) -> None:
        data = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            # A failed write may have left a part behind the last good line.
            os.ftruncate(handle, self._size)
            os.lseek(handle, self._size, os.SEEK_SET)
            write_all(handle, data)
        finally:
            os.close(handle)
        self._size += len(data)


def write_all(handle: int, data: bytes) -> None:
    """Write all of some bytes to an open file. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _header(run: Run) -> str:
    return sound("".join(toml_table(header_to_table(run))))


@dataclass(frozen=True, slots=True)
class Recovered:
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
            entry = json.loads(line)
            if "run" in entry:
                run = _run_of(entry["run"])
            elif run is not None and "choice" in entry:
                _extend(run, entry)
            elif run is not None and "end" in entry:
                run = _ended(run, entry)
                ended = True
            elif "append" in entry:
                offset = int(entry["append"])
    if run is None:
        return None
    if not ended:
        run.outcome = Outcome.TRUNCATED
        run.total = max((choice.at[-1] for choice in run.choices.values() if len(choice)), default=0.0)
        run.note("recovered: the program ended while this was streaming")
    return Recovered(path, run, ended, offset)


def _run_of(header: str) -> Run:
    return run_from_table(Fields(tomllib.loads(header), "the run"))


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
