"""`workbench serve`: loads the model, serves it, and ends with whoever started it."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import signal
import socket
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.domain.errors import EngineError, WorkbenchError
from workbench.local.model import find_model, model_name
from workbench.local.options import ServeOptions

_WATCH_SECONDS = 0.5
_GRACE_SECONDS = 2


def run_server(options: ServeOptions) -> int:
    """Serve until told to end; answers with the exit status.

    Prints one line of JSON to standard output once requests are answered: `{"url": …, "model": …}`.
    What went wrong goes to standard error: one line of what happened, then what to do.
    """
    if options.parent_watch:
        _watch_parent()
    try:
        key = _read_key(options)
        path = find_model(options.model)
        with _listen(options) as listener:
            asyncio.run(_serve(options, path, key, listener))
    except WorkbenchError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    return 0


async def _serve(options: ServeOptions, path: Path, key: str | None, listener: socket.socket) -> None:
    # Imported late: a missing model or key is told of at once, also in a lean install.
    try:
        import uvicorn

        from workbench.local.app import LocalServer
        from workbench.local.engine import LlamaEngine
    except ModuleNotFoundError:
        raise EngineError(
            "The local server is not installed", hint="Run `pip install 'completion-workbench[local]'`."
        ) from None

    class Listener(uvicorn.Server):
        """Leaves signals alone: its own way ends the process by the signal it got."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    local = LocalServer(model_name(path), options.slots, options.queue)
    config = uvicorn.Config(
        local.app(key),
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
    )
    server = Listener(config)

    # A client that does not read on, or an engine deep in its work, must not hold up the end.
    backstop = threading.Timer(_GRACE_SECONDS, os._exit, (0,))
    backstop.daemon = True

    def end(*_: object) -> None:
        server.should_exit = True
        local.stop()
        if not backstop.is_alive():
            backstop.start()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        engine = await asyncio.to_thread(LlamaEngine, path, options.slots, options.context)
        local.attach(engine)
        _announce(options.host, listener, model_name(path))
        await serving
        await local.aclose()
        engine.close()
    finally:
        server.should_exit = True
        await serving


def _announce(host: str, listener: socket.socket, model: str) -> None:
    port = listener.getsockname()[1]
    name = f"[{host}]" if ":" in host else host
    print(json.dumps({"url": f"http://{name}:{port}", "model": model}), flush=True)  # noqa: T201


def _read_key(options: ServeOptions) -> str | None:
    if options.api_key_env is None:
        if not _is_loopback(options.host):
            raise WorkbenchError(
                f"{options.host} can be reached from other machines, so a key is needed",
                hint="Name the variable that holds it with --api-key-env NAME.",
            )
        return None
    key = os.environ.get(options.api_key_env, "")
    if not key:
        raise WorkbenchError(
            f"The variable {options.api_key_env} holds no key", hint="Set it, or leave --api-key-env out."
        )
    return key


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listen(options: ServeOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        return socket.create_server((options.host, options.port), family=family, backlog=1024)
    except (OSError, OverflowError) as error:
        raise WorkbenchError(
            f"Cannot listen on {options.host} port {options.port}",
            str(error),
            "Choose another with --host and --port; port 0 takes a free one.",
        ) from None


def _watch_parent() -> None:
    """End this process, at once, when the one that started it has ended.

    Linux could send a signal by itself (PR_SET_PDEATHSIG), but does so already when only the *thread* that
    started us ends; a pipe that closes and the parent's id do not err so.
    """
    mode = os.fstat(0).st_mode
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        threading.Thread(target=_wait_for_end_of_input, name="standard input", daemon=True).start()
    threading.Thread(target=_wait_for_other_parent, args=(os.getppid(),), name="parent", daemon=True).start()


def _wait_for_end_of_input() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


def _wait_for_other_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os._exit(0)
