"""`workbench`: open the screen."""

from __future__ import annotations

import os
from pathlib import Path

from workbench.cli import garbage_collection
from workbench.domain.errors import BadValueError
from workbench.domain.run import Run
from workbench.tui.app import WorkbenchApp
from workbench.tui.terminal import end_soon
from workbench.workspace.services import Services


def run(
    session: str | None = None,
    endpoint: str | None = None,
    model: str = "",
    api_key_env: str | None = None,
    demo: bool = False,
) -> int:
    """Open the workbench and return the exit status. Raises BadValueError for an invalid option."""
    services = Services.open(dict(os.environ), endpoint or "", api_key_env, model)
    file = _file(session)
    if not (os.isatty(0) and os.isatty(2)):
        # Writing to a pipe that nobody reads would block the screen forever.
        hint = "Commands without a screen need none, such as `workbench run`."
        where = "It reads standard input and draws on standard error."
        raise BadValueError("The screen needs a terminal", where, hint)
    app = Started(services, file, _demo() if demo else None)
    app.run()
    return app.return_code or 0


class Started(WorkbenchApp):
    """The workbench as the main app of a process; it enables garbage collection after the first paint."""

    def on_ready(self) -> None:
        """Enable garbage collection."""
        garbage_collection.begin()
        self.set_interval(garbage_collection.SECONDS, self._collect)

    async def leave(self) -> None:
        """Quit, also while a thread waits for a disk."""
        await super().leave()
        end_soon(0)

    def _collect(self) -> None:
        if not self.workspace.runs.is_streaming:
            garbage_collection.collect_what_is_due()


def _file(name: str | None) -> Path | None:
    if name is None:
        return None
    path = Path(name).absolute()
    if not path.is_file():
        raise BadValueError(f"{name!r} is neither a session file nor a command (workbench --help lists them)")
    return path


def _demo() -> Run:
    # Only the demo reads a session file before the first paint.
    from workbench.storage.session_file import load_demo

    return load_demo()
