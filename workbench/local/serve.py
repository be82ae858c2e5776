"""`workbench serve`: load the model and serve it, optionally until the parent process ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import stat
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from workbench.domain.display import visible
from workbench.domain.errors import WorkbenchError
from workbench.local.access import Access, is_loopback
from workbench.local.http_server import HttpServer, log_failure
from workbench.local.model_file import find_model, model_name
from workbench.local.options import ServeOptions
from workbench.local.routes import CompletionsApp
from workbench.local.scheduler import load_engine

_WATCH_SECONDS = 0.5
_GRACE_SECONDS = 2


def run_server(options: ServeOptions) -> int:
    """Serve until a signal arrives, and return the exit status.

    Prints a line of JSON to standard output once the server is ready: `{"url": …, "model": …}`. Errors are
    printed to standard error: first what happened, then what to do.
    """
    if options.parent_watch:
        _watch_parent()
    try:
        access = Access(_read_key(options), frozenset(map(_read_origin, options.cors)))
        path = find_model(options.model)
        with _listen(options) as listener:
            return asyncio.run(_serve(options, path, access, listener))
    except WorkbenchError as error:
        print(visible(str(error)), file=sys.stderr)  # noqa: T201
        return 1


async def _serve(options: ServeOptions, path: Path, access: Access, listener: socket.socket) -> int:
    local = CompletionsApp(model_name(path), options.slots, options.queue, access)
    server = HttpServer(local)

    # A client that stopped reading, or a busy engine, must not delay the exit.
    status = 0
    backstop = threading.Timer(_GRACE_SECONDS, lambda: os._exit(status))
    backstop.daemon = True

    loop = asyncio.get_running_loop()

    def end(*_: object) -> None:
        loop.call_soon_threadsafe(server.stop)
        loop.call_soon_threadsafe(local.stop)
        if not backstop.is_alive():
            backstop.start()

    def fail(failure: threading.ExceptHookArgs) -> None:
        """End the server, because without the engine's thread it can only return errors."""
        nonlocal status
        status = 1
        if failure.exc_value is not None:
            log_failure(failure.exc_value)
        end()

    threading.excepthook = fail
    loop.set_exception_handler(_log_loop_failure)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    serving = asyncio.create_task(server.serve(listener))
    try:
        engine = await asyncio.to_thread(
            load_engine, path, options.slots, options.context, loop.call_soon_threadsafe
        )
        local.attach(engine)
        _announce(options.host, listener, model_name(path))
        await serving
        await asyncio.to_thread(engine.close)
    finally:
        server.stop()
        await serving
    return status


def _log_loop_failure(_: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
    """Log an unhandled error of the event loop by `log_failure`."""
    if (error := context.get("exception")) is not None:
        log_failure(error)


def _announce(host: str, listener: socket.socket, model: str) -> None:
    port = listener.getsockname()[1]
    name = f"[{host}]" if ":" in host else host
    print(json.dumps({"url": f"http://{name}:{port}", "model": model}), flush=True)  # noqa: T201


def _read_key(options: ServeOptions) -> str | None:
    if options.api_key_env is None:
        if not is_loopback(options.host):
            raise WorkbenchError(
                f"{options.host} can be reached from other machines, so a key is needed",
                hint="Name the variable that holds it with --api-key-env NAME.",
            )
        return None
    # Clients cannot send whitespace around the key, because header values are stripped.
    key = os.environ.get(options.api_key_env, "").strip()
    if not key:
        raise WorkbenchError(
            f"The variable {options.api_key_env} holds no key", hint="Set it, or leave --api-key-env out."
        )
    return key


def _read_origin(text: str) -> str:
    address = urlsplit(text.lower())
    if address.scheme in ("http", "https") and text.lower() == f"{address.scheme}://{address.netloc}":
        return text.lower()
    raise WorkbenchError(
        f"--cors {text!r} is not the origin of a web page",
        hint="Write scheme, host and port, such as http://localhost:3000.",
    )


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
    """Exit at once when the parent process has ended.

    Linux can send a signal (PR_SET_PDEATHSIG), but sends it already when the parent *thread* ends. A closed
    pipe on standard input and a changed parent id are reliable.
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
