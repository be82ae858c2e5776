"""Sending one run to wherever its endpoint is, with the embedded model started where it is that one's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from workbench.client.client import Client
from workbench.client.wire import WireLog
from workbench.domain.endpoint import LOCAL, Endpoint
from workbench.domain.errors import WorkbenchError
from workbench.domain.run import Failure, Outcome, Run
from workbench.runner.execution import execute
from workbench.runner.local_server import LocalServer
from workbench.runner.status import Phase, Status


async def launch(
    client: Client,
    local: LocalServer,
    endpoint: Endpoint,
    run: Run,
    on_status: Callable[[Status], None],
    *,
    wire: WireLog | None = None,
) -> None:
    """Execute a run; afterwards it has its outcome, whatever happened.

    `on_status` is told what goes on before the first token. Cancelling closes the connection and leaves the
    outcome `stopped`. `wire` records the exchange, the first one of a run that is split.
    """
    try:
        if endpoint.name == LOCAL:
            if not local.is_running:
                on_status(Status(Phase.STARTING, "starting the local model"))
            endpoint = await local.ensure(endpoint)
            on_status(Status(Phase.SENDING))
        await execute(client, endpoint, run, on_status=on_status, wire=wire)
        if (
            endpoint.name == LOCAL
            and run.outcome in (Outcome.ERROR, Outcome.TRUNCATED)
            and (death := await local.death()) is not None
        ):
            run.error, run.outcome = Failure.of(death), Outcome.ERROR
    except asyncio.CancelledError:
        run.outcome = run.outcome or Outcome.STOPPED
        raise
    except WorkbenchError as error:
        run.error = Failure.of(error)
        run.outcome = Outcome.ERROR


def words_of(status: Status) -> str:
    """A status in one line; empty where there is nothing to say."""
    if status.phase is Phase.RETRYING:
        return f"attempt {status.attempt + 1} in {status.seconds:.0f} s: {status.detail}"
    return status.detail
