"""Edit a text in the user's editor, `$VISUAL` or `$EDITOR`, while the application is suspended."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from codecs import BOM_UTF8
from collections.abc import Mapping
from pathlib import Path
from time import monotonic

from textual.app import App, SuspendNotSupported

from workbench.domain.display import one_line
from workbench.domain.errors import WorkbenchError

_AT_ONCE = 1.0
"""Seconds in which nobody can edit a text: an editor that returns sooner opened a window elsewhere."""


def with_editor(environment: Mapping[str, str], editor: str) -> Mapping[str, str]:
    """Return the environment with `$VISUAL` set to the configured editor, if there is one."""
    return {**environment, "VISUAL": editor} if editor else environment


def edit_text(app: App[int], text: str, environment: Mapping[str, str], file: str = "prompt.txt") -> str:
    """Open a text in the user's editor, and return the text as it was saved.

    `file` names the temporary file, by whose extension editors choose syntax highlighting. Raises
    WorkbenchError if no editor is set, or if it cannot be started, fails, or returns before anyone could have
    edited the text; in the last case the file is kept for the window that the editor opened.
    """
    argv = _command(environment)
    name = one_line(argv[0], 60)
    raw = text.encode("utf-8", "surrogatepass")
    folder = Path(tempfile.mkdtemp(prefix="workbench-"))
    path = folder / file
    path.write_bytes(raw)
    began = monotonic()
    code = _run(app, [*argv, os.fspath(path)], name)
    try:
        edited = path.read_bytes()
    except OSError as error:
        raise WorkbenchError(f"What {name} wrote cannot be read: {error.strerror}") from None
    if code == 0 and edited == raw and monotonic() - began < _AT_ONCE:
        raise WorkbenchError(
            f"{name} returned at once and the text is unchanged.",
            f"If it opened a window, what you save there goes to {path}.",
            "Set $EDITOR to a command that waits until the file is closed, such as code --wait.",
        )
    shutil.rmtree(folder, ignore_errors=True)
    if code:
        raise WorkbenchError(f"{name} ended with code {code}; the text is unchanged.")
    if edited == raw:
        return text
    if not raw.startswith(BOM_UTF8):
        edited = edited.removeprefix(BOM_UTF8)
    # Most editors append a final newline, which the model would see.
    if edited.endswith(b"\n") and not raw.endswith(b"\n"):
        edited = edited[:-1]
    try:
        return edited.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise WorkbenchError(f"What {name} wrote is not UTF-8: {error.reason}") from None


def _command(environment: Mapping[str, str]) -> list[str]:
    try:
        argv = shlex.split(environment.get("VISUAL") or environment.get("EDITOR") or "")
    except ValueError as error:
        raise WorkbenchError(f"$EDITOR is not a command: {error}") from None
    if not argv:
        raise WorkbenchError("No editor is set.", hint="Set $EDITOR, for example to nano.")
    return argv


def _run(app: App[int], argv: list[str], name: str) -> int:
    failure: OSError | None = None
    code = 0
    try:
        with app.suspend():
            # An exception leaving this block would leave the application suspended.
            try:
                code = subprocess.run(argv, check=False).returncode
            except OSError as error:
                failure = error
    except SuspendNotSupported:
        raise WorkbenchError("This terminal cannot be handed to another editor.") from None
    if failure is not None:
        raise WorkbenchError(
            f"{name} did not start: {failure.strerror}", hint="Check $VISUAL, $EDITOR and config.toml."
        )
    return code
