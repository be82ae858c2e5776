"""The workspace of a command: its endpoint, the session that it keeps runs in, and what streams there."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import aclosing, contextmanager
from typing import Any, TypeVar

from workbench.cli.messages import print_notes
from workbench.cli.session_files import open_for_writing
from workbench.domain.endpoint import LOCAL
from workbench.workspace.keeper import Keeper
from workbench.workspace.services import Services
from workbench.workspace.workspace import Workspace

T = TypeVar("T")


def services_of(arguments: argparse.Namespace) -> Services:
    """What the options of `add_endpoint_options` name. Raises BadValueError for an unknown endpoint."""
    return open_services(arguments.endpoint or LOCAL, arguments.api_key_env, arguments.model)


def open_services(endpoint: str = LOCAL, api_key_env: str | None = None, model: str = "") -> Services:
    """The person's files; prints what is wrong with them. Raises BadValueError for an unknown endpoint."""
    services = Services.open(dict(os.environ), endpoint, api_key_env, model)
    print_notes(map(str, services.problems), "workbench: ")
    return services


@contextmanager
def open_workspace(services: Services, session: str | None) -> Iterator[Workspace]:
    """A workspace on a session file; without one, on a session that is kept nowhere.

    Raises what `open_for_writing` raises.
    """
    if session:
        with open_for_writing(session) as keeper:
            yield Workspace(services, keeper)
    else:
        yield Workspace(services, Keeper(services.folders.data / "sessions", enabled=False))


def run_in(workspace: Workspace, doing: Coroutine[Any, Any, T]) -> T:
    """Do something in a workspace, then close its connections; what streams is kept meanwhile."""

    async def do() -> T:
        async with aclosing(workspace.services.connections):
            keeping = asyncio.create_task(workspace.keeper.watch())
            try:
                return await doing
            finally:
                keeping.cancel()

    return asyncio.run(do())


def stop_on_signals(stop: Callable[[], object], *more: str) -> None:
    """Call `stop` on Ctrl+C, on SIGTERM and on the signals named, where the system has them."""
    for name in ("SIGINT", "SIGTERM", *more):
        if hasattr(signal, name):
            asyncio.get_running_loop().add_signal_handler(getattr(signal, name), stop)
