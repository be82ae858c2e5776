"""Edit a text in the user's editor, `$VISUAL` or `$EDITOR`, while it has the terminal."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import tempfile
from codecs import BOM_UTF8
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from time import monotonic

from textual.app import App, SuspendNotSupported

from workbench.domain.display import one_line, sentences, show_exit
from workbench.domain.errors import WorkbenchError

_AT_ONCE = 1.0
"""Seconds in which nobody can edit a text: an editor that returns sooner opened a window elsewhere."""


def with_editor(environment: Mapping[str, str], editor: str) -> Mapping[str, str]:
    """Return the environment with `$VISUAL` set to the configured editor, if there is one."""
    return {**environment, "VISUAL": editor} if editor else environment


@asynccontextmanager
async def edited_text(
    app: App[int], text: str, environment: Mapping[str, str], file: str = "prompt.txt"
) -> AsyncGenerator[str]:
    """Open a text in the user's editor, and yield it as saved; the application keeps running meanwhile.

    `file` names the temporary file, whose suffix sets the editor's syntax highlighting. What the editor saved
    stays in that file, which the error then names, if the editor fails or the block raises a WorkbenchError.
    Raises WorkbenchError if no editor is set, it cannot be started, ends with an error, or returns before
    anyone could have edited: the file then stays for the window that it opened.
    """
    argv = _command(environment)
    name = one_line(argv[0], 60)
    raw = text.encode("utf-8", "surrogatepass")
    try:
        folder = Path(tempfile.mkdtemp(prefix="workbench-"))
        path = folder / file
        path.write_bytes(raw)
    except OSError as error:
        where = one_line(tempfile.gettempdir(), 80)
        hint = f"{name} needs a file there: free some space, or set $TMPDIR to another folder."
        raise WorkbenchError(f"{where} cannot be written", error.strerror or "", hint) from None
    is_done = is_elsewhere = False
    try:
        began = monotonic()
        code = await _run(app, [*argv, os.fspath(path)], name)
        edited = _read(path, name)
        is_elsewhere = code == 0 and edited == raw and monotonic() - began < _AT_ONCE
        if is_elsewhere:
            raise WorkbenchError(
                f"{name} returned at once and the text is unchanged.",
                f"If it opened a window, what you save there goes to {path}.",
                "Set $EDITOR to a command that waits until the file is closed, such as code --wait.",
            )
        if code:
            raise WorkbenchError(f"{name} ended with {show_exit(code)}; the text is unchanged.")
        yield text if edited == raw else _decoded(edited, raw, name)
        is_done = True
    except WorkbenchError as error:
        if not is_elsewhere and _is_changed(path, raw):
            error.hint = sentences(error.hint, f"What {name} saved is in {path}.")
        raise
    finally:
        if is_done or not (is_elsewhere or _is_changed(path, raw)):
            shutil.rmtree(folder, ignore_errors=True)


def _is_changed(path: Path, raw: bytes) -> bool:
    """Return whether a file differs from these bytes, or another file, such as a swap file, is beside it."""
    with suppress(OSError):
        names = [other.name for other in path.parent.iterdir()]
        return names not in ([], [path.name]) or (names == [path.name] and path.read_bytes() != raw)
    return False


def _read(path: Path, name: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise WorkbenchError(f"What {name} wrote cannot be read: {error.strerror}") from None


def _decoded(edited: bytes, raw: bytes, name: str) -> str:
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


async def _run(app: App[int], argv: list[str], name: str) -> int:
    failure: OSError | asyncio.CancelledError | None = None
    code = 0
    try:
        with app.suspend():
            # An exception leaving this block would leave the application suspended.
            try:
                process = await asyncio.create_subprocess_exec(*argv)
                code = await process.wait()
            except (OSError, asyncio.CancelledError) as error:
                failure = error
    except SuspendNotSupported:
        raise WorkbenchError("This terminal cannot be handed to another editor.") from None
    if isinstance(failure, OSError):
        raise WorkbenchError(
            f"{name} did not start: {failure.strerror}", hint="Check $VISUAL, $EDITOR and config.toml."
        )
    if failure is not None:
        raise failure
    return code
