"""The embedded model as a child process: started on the first run, ended with its parent."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
from collections.abc import MutableMapping
from contextlib import suppress

from msgspec import Struct

from workbench.domain.display import one_line, show_exit
from workbench.domain.errors import EngineError

KEY_VARIABLE = "WORKBENCH_LOCAL_KEY"
"""The variable that carries the random key between this process and its child, and nowhere else."""

_START_SECONDS = 120
_END_SECONDS = 3
_GRACE_SECONDS = 0.5
_KEPT_BYTES = 8192
_AGAIN = "Run again to restart it. The text received so far is kept."


class Listening(Struct, frozen=True):
    """What a child says once it takes requests."""

    url: str
    """Its base URL."""
    model: str
    """The name of the model that it loaded."""


class LocalServer:
    """Starts `workbench serve` when it is first needed, and again when it has died."""

    def __init__(self, environment: MutableMapping[str, str], model: str = "") -> None:
        """`environment` receives the server's random key, for the client to find it there.

        `model` names a GGUF file; empty is the embedded one.
        """
        self._environment = environment
        self._model = model
        self._process: asyncio.subprocess.Process | None = None
        self._listening: Listening | None = None
        self._starting: asyncio.Task[None] | None = None
        self._complaints = bytearray()
        """The end of what the child wrote to standard error."""
        self._readers: list[asyncio.Task[None]] = []
        self._is_closed = False

    @property
    def is_running(self) -> bool:
        """Whether the child listens."""
        return self._listening is not None and self.pid is not None

    @property
    def pid(self) -> int | None:
        """The child's process id while it is alive."""
        if self._process is None or self._process.returncode is not None:
            return None
        return self._process.pid

    async def ensure(self) -> Listening:
        """The running child, which is started if need be.

        All who ask while it starts wait for the same start, which goes on when one of them is cancelled.
        Raises EngineError where the engine or its model is missing or does not start, or after `aclose`.
        """
        while self._listening is None or self.pid is None:
            if self._is_closed:
                raise EngineError("The local model was stopped", hint="Start the workbench again.")
            if self._starting is None or self._starting.done():
                self._starting = asyncio.create_task(self._start())
                # Where nobody waits any more, nobody else would look at a start that failed.
                self._starting.add_done_callback(lambda task: task.cancelled() or task.exception())
            # The start of a server that is being closed is cancelled, which does not cancel those who wait.
            await asyncio.wait({self._starting})
            if not self._starting.cancelled():
                self._starting.result()
        return self._listening

    async def model_name(self) -> str:
        """The name of the model that the child would load; nothing is started for it but a short program.

        Raises EngineError where the model is missing.
        """
        process = await self._spawn("--print-model-name", stdin=asyncio.subprocess.DEVNULL)
        try:
            name, words = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            title, _, hint = words.decode("utf-8", "replace").strip().partition("\n")
            raise EngineError(one_line(title), "", one_line(hint))
        return name.decode("utf-8", "replace").strip()

    async def death(self, url: str) -> EngineError | None:
        """What the child that listened at a URL died of; None where it is alive.

        A connection breaks a moment before the process counts as ended, so this waits for that moment.
        """
        process = self._process
        if process is None or self._listening is None or url != self._listening.url:
            return EngineError("The embedded engine stopped", hint=_AGAIN)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _GRACE_SECONDS)
        if process.returncode is None:
            return None
        return EngineError(
            f"The embedded engine stopped ({show_exit(process.returncode)})",
            one_line(" ".join(self._last_lines[-3:])),
            _AGAIN,
        )

    async def aclose(self) -> None:
        """End the child, by force if it does not end on its own, and a start that is under way with it."""
        self._is_closed = True
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait({self._starting})
        await self._end()

    async def _end(self) -> None:
        """End the child, if there is one, and wait until it is gone."""
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
        self._complaints.clear()
        options = ("--api-key-env", KEY_VARIABLE, "--watch-parent")
        process = self._process = await self._spawn(*options, stdin=asyncio.subprocess.PIPE)
        assert process.stdout is not None
        assert process.stderr is not None
        self._readers.append(asyncio.create_task(self._read(process.stderr, self._complaints)))
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
        # A pipe that nobody reads would stop whoever writes to it.
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
            # It ended by itself and says why, and what to do.
            return EngineError(one_line(lines[0]), one_line(" ".join(lines[1:])), hint)
        how = "gave no address" if returncode is None else f"ended ({show_exit(returncode)})"
        return EngineError(f"The embedded engine {how} when it started", one_line(" ".join(lines[-3:])), hint)

    async def _read(self, stream: asyncio.StreamReader, kept: bytearray) -> None:
        """Read a stream to its end and keep the last of it."""
        while data := await stream.read(_KEPT_BYTES):
            kept += data
            del kept[:-_KEPT_BYTES]

    @property
    def _last_lines(self) -> list[str]:
        """The last lines that the child wrote to standard error, without empty ones."""
        lines = self._complaints.decode("utf-8", "replace").splitlines()
        return [line.rstrip() for line in lines if line.strip()][-40:]
