"""How an error reads where there is room for a paragraph only."""

from __future__ import annotations

from workbench.domain.errors import StorageError, WorkbenchError


def test_an_error_reads_as_sentences() -> None:
    error = StorageError("s.toml cannot be written", "No space left on device", "Free some space.")
    assert error.paragraph == "s.toml cannot be written. No space left on device. Free some space."
    assert WorkbenchError("No editor is set").paragraph == "No editor is set."
