"""The progress of a check as JSON Lines: its settings, then each finished case; a killed check can resume."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from workbench.domain.display import one_line
from workbench.domain.json_values import JsonValue, parse_json
from workbench.domain.regression_case import CaseResult
from workbench.storage.files import file_error


def _line(value: object) -> bytes:
    # json.dumps also writes lone surrogates (in file names and token texts) and infinite differences.
    return json.dumps(msgspec.to_builtins(value)).encode() + b"\n"


class CheckProgress:
    """Appends results to a file; `done` holds the results of an earlier, interrupted check."""

    def __init__(self, path: Path, settings: Mapping[str, JsonValue]) -> None:
        """Open or create the file; `settings` are all settings that the results depend on.

        Raises StorageError if the file cannot be written, or belongs to a check with other settings.
        """
        self._path = path
        self.done: list[CaseResult] = []
        with self._named_errors(), ExitStack() as stack:
            self._file = stack.enter_context(path.open("a+b", buffering=0))
            self._begin(_line(settings))
            stack.pop_all()

    def _begin(self, head: bytes) -> None:
        """Read the existing results, and truncate the file after its last complete line."""
        self._file.seek(0)
        first = self._file.readline()
        # A killed check may have left an incomplete line.
        if len(first) < len(head) and head.startswith(first):
            self._file.truncate(0)
            self._file.write(head)
            return
        if first != head:
            why = f"Its settings are {one_line(first.decode(errors='replace'))}"
            hint = "Name another file, or remove it to begin again."
            raise file_error(self._path, "belongs to another check", why, hint)
        whole = len(first)
        for line in self._file:
            if not line.endswith(b"\n"):
                break
            self.done.append(msgspec.convert(parse_json(line), CaseResult))
            whole += len(line)
        self._file.truncate(whole)

    def add(self, result: CaseResult) -> None:
        """Append a result. Raises StorageError."""
        with self._named_errors():
            self._file.write(_line(result))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:
            raise file_error(self._path, "cannot hold the progress", error) from None
