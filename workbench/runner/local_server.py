"""Run the embedded model in a child process, started on demand and ended with its parent."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
from collections.abc import MutableMapping
from contextlib import suppress

from msgspec import Struct

from workbench.domain.display import one_line, sentences, show_exit
from workbench.domain.errors import EngineError

KEY_VARIABLE = "WORKBENCH_LOCAL_KEY"
"""Environment variable that passes the random API key to the child process only."""

_START_SECONDS = 120
_END_SECONDS = 3
_GRACE_SECONDS = 0.5
_KEPT_BYTES = 8192
_RESTART_HINT = "Run again to restart it. The text received so far is kept."


class Listening(Struct, frozen=True):
    """The child's report once it accepts requests."""

    url: str
    """Base URL."""
    model: str
    """Name of the loaded model."""


class LocalServer:
    """Starts the server process on first use, and restarts it after it exits."""

    def __init__(self, environment: MutableMapping[str, str], model: str = "") -> None:
        """`environment` receives the server's random API key, for the client to read.

        `model` is the path of a GGUF file; empty for the embedded model.
        """
        self._environment = environment
        self._model = model
        self._process: asyncio.subprocess.Process | None = None
        self._listening: Listening | None = None
        self._starting: asyncio.Task[None] | None = None
        self._stderr = bytearray()
        """The end of the child's standard error."""
        self._readers: list[asyncio.Task[None]] = []
        self._is_closed = False

    @property
    def is_running(self) -> bool:
        """Whether the child is accepting requests."""
        return self._listening is not None and self.pid is not None

    @property
    def pid(self) -> int | None:
        """The child's process id; None unless it is alive."""
        if self._process is None or self._process.returncode is not None:
            return None
        return self._process.pid

    async def ensure(self) -> Listening:
        """Return the running child, starting it if needed.

        Concurrent callers wait for the same start, which continues if one of them is cancelled. Raises
        EngineError if the engine or its model is missing or does not start, or after `aclose`.
        """
        while self._listening is None or self.pid is None:
            if self._is_closed:
                raise EngineError("The local model was stopped", hint="Start the workbench again.")
            if self._starting is None or self._starting.done():
                self._starting = asyncio.create_task(self._start())
                # Retrieve the exception, in case every caller was cancelled before the start failed.
                self._starting.add_done_callback(lambda task: task.cancelled() or task.exception())
            # `aclose` cancels the start; that must not cancel the callers that wait for it.
            await asyncio.wait({self._starting})
            if not self._starting.cancelled():
                self._starting.result()
        return self._listening

    async def model_name(self) -> str:
        """Return the name of the model that the child would load, without loading it.

        Raises EngineError if the model is missing.
        """
        process = await self._spawn("--print-model-name", stdin=asyncio.subprocess.DEVNULL)
        try:
            name, complaint = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            title, *others = complaint.decode("utf-8", "replace").strip().split("\n")
            raise EngineError(one_line(title), "", one_line(sentences(*others)))
        return name.decode("utf-8", "replace").strip()

    async def death(self, url: str) -> EngineError | None:
        """Return why the child that listened at a URL exited; None if it is alive.

        Waits briefly for the exit, because connections break a moment before the process ends.
        """
        process = self._process
        if process is None or self._listening is None or url != self._listening.url:
            return EngineError("The embedded engine stopped", hint=_RESTART_HINT)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _GRACE_SECONDS)
        if process.returncode is None:
            return None
        return EngineError(
            f"The embedded engine stopped ({show_exit(process.returncode)})",
            one_line(" ".join(self._last_lines[-3:])),
            _RESTART_HINT,
        )

    async def aclose(self) -> None:
        """Cancel a pending start and stop the child, killing it if it does not exit in time."""
        self._is_closed = True
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait({self._starting})
        await self._end()

    async def _end(self) -> None:
        """Stop the child, if any, and wait until it has exited."""
        self._listening = None
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                process.terminate()
            try:
                with suppress(TimeoutError):
                    await asyncio.wait_for(process.wait(), _END_SECONDS)
            finally:
                if process.returncode is None:
                    with suppress(ProcessLookupError):
                        process.kill()
                    await process.wait()
        readers, self._readers = self._readers, []
        if readers:
            await asyncio.wait(readers, timeout=_GRACE_SECONDS)
        for reader in readers:
            reader.cancel()

    async def _start(self) -> None:
        await self._end()
        try:
            await self._start_child()
        except BaseException:
            await self._end()
            raise

    async def _start_child(self) -> None:
        self._environment[KEY_VARIABLE] = secrets.token_urlsafe(32)
        self._stderr.clear()
        options = ("--api-key-env", KEY_VARIABLE, "--watch-parent")
        process = self._process = await self._spawn(*options, stdin=asyncio.subprocess.PIPE)
        assert process.stdout is not None
        assert process.stderr is not None
        self._readers.append(asyncio.create_task(self._read(process.stderr, self._stderr)))
        try:
            ready = json.loads(await asyncio.wait_for(process.stdout.readline(), _START_SECONDS))
            self._listening = Listening(str(ready["url"]), str(ready["model"]))
        except TimeoutError:
            raise EngineError(
                f"The embedded engine did not start within {_START_SECONDS} s",
                one_line(" ".join(self._last_lines[-3:])),
                "Try again, or choose another endpoint.",
            ) from None
        except (ValueError, KeyError, TypeError):
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), _END_SECONDS)
            await asyncio.wait(self._readers, timeout=_GRACE_SECONDS)
            raise self._failed_start(process.returncode) from None
        # Drain standard output: a full pipe would block the child.
        self._readers.append(asyncio.create_task(self._read(process.stdout, bytearray())))

    async def _spawn(self, *options: str, stdin: int) -> asyncio.subprocess.Process:
        model = ("--model", self._model) if self._model else ()
        key = {name: self._environment[name] for name in (KEY_VARIABLE,) if name in self._environment}
        try:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "workbench.local", *options, *model),
                stdin=stdin,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={**os.environ, **key},
                # Its own process group: Ctrl+C in the terminal stops the run, not the server under it.
                process_group=0 if os.name == "posix" else None,
            )
        except OSError as error:
            raise EngineError(
                "The embedded engine cannot be started",
                one_line(f"{sys.executable}: {error.strerror or error}"),
                "Start the workbench again, or choose another endpoint.",
            ) from None

    def _failed_start(self, returncode: int | None) -> EngineError:
        hint, lines = "Or choose another endpoint.", self._last_lines
        if returncode is not None and returncode > 0 and lines:
            # It exited by itself, with the reason and a hint on standard error.
            return EngineError(one_line(lines[0]), one_line(sentences(*lines[1:])), hint)
        how = "gave no address" if returncode is None else f"ended ({show_exit(returncode)})"
        return EngineError(f"The embedded engine {how} when it started", one_line(" ".join(lines[-3:])), hint)

    async def _read(self, stream: asyncio.StreamReader, kept: bytearray) -> None:
        """Read a stream to its end and keep its last `_KEPT_BYTES` bytes."""
        while data := await stream.read(_KEPT_BYTES):
            kept += data
            del kept[:-_KEPT_BYTES]

    @property
    def _last_lines(self) -> list[str]:
        """The last non-empty lines of the child's standard error, at most 40."""
        lines = self._stderr.decode("utf-8", "replace").splitlines()
        return [line.rstrip() for line in lines if line.strip()][-40:]
