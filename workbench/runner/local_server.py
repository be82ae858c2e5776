"""The embedded model as a child process: started on the first run, ended with its parent."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import sys
from collections import deque
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from dataclasses import replace

from workbench.domain.display import one_line
from workbench.domain.endpoint import Endpoint, EnvironmentKey
from workbench.domain.errors import EngineError

KEY_VARIABLE = "WORKBENCH_LOCAL_KEY"
"""The variable that carries the random key between this process and its child, and nowhere else."""

_START_SECONDS = 120
_END_SECONDS = 3
_GRACE_SECONDS = 0.5


class LocalServer:
    """Starts `workbench serve` when it is first needed, and again when it has died."""

    def __init__(self, environment: MutableMapping[str, str], model: str = "") -> None:
        """`environment` receives the server's random key, for the client to find it there.

        `model` names a GGUF file; empty is the embedded one.
        """
        self._environment = environment
        self._model = model
        self._process: asyncio.subprocess.Process | None = None
        self._url = ""
        self._loaded = ""
        self._words: deque[str] = deque(maxlen=40)
        self._reader: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()

    @property
    def is_running(self) -> bool:
        """Whether the child is alive."""
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        """The child's process id while it is alive."""
        return self._process.pid if self._process is not None and self.is_running else None

    async def ensure(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint with the address, key and model of the running child, which is started if need be.

        Raises EngineError where the engine or its model is missing or does not start.
        """
        async with self._starting:
            if not self.is_running:
                await self.aclose()
                await self._start()
        return replace(
            endpoint,
            base_url=self._url,
            key=EnvironmentKey(KEY_VARIABLE),
            model=endpoint.model or self._loaded,
        )

    async def model_name(self) -> str:
        """The name of the model that the child would load; nothing is started for it but a short program.

        Raises EngineError where the model is missing.
        """
        argv = [sys.executable, "-m", "workbench.local", "--print-model-name"]
        if self._model:
            argv += ["--model", self._model]
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            process_group=0 if os.name == "posix" else None,
        )
        try:
            name, words = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            first, _, rest = words.decode("utf-8", "replace").strip().partition("\n")
            raise EngineError(one_line(first), "", one_line(rest))
        return name.decode("utf-8", "replace").strip()

    async def death(self) -> EngineError | None:
        """What the child died of, where it started and is no longer alive.

        A connection breaks a moment before the process counts as ended, so this waits for that moment.
        """
        if self._process is None:
            return None
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), _GRACE_SECONDS)
        if self.is_running:
            return None
        return EngineError(
            f"The embedded engine ended ({_describe(self._process.returncode)})",
            self._last_words(),
            "Run again: it is started anew. The text that came is kept.",
        )

    async def aclose(self) -> None:
        """End the child, by force if it does not end on its own."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                process.terminate()
            try:
                await asyncio.wait_for(process.wait(), _END_SECONDS)
            except TimeoutError:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if self._reader is not None:
            await self._reader
            self._reader = None

    async def _start(self) -> None:
        self._environment[KEY_VARIABLE] = secrets.token_urlsafe(32)
        self._words.clear()
        argv = [sys.executable, "-m", "workbench.local", "--api-key-env", KEY_VARIABLE, "--watch-parent"]
        if self._model:
            argv += ["--model", self._model]
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=_plain_environment(self._environment),
            # Its own process group: Ctrl+C in the terminal stops the run, not the server under it.
            process_group=0 if os.name == "posix" else None,
        )
        self._process = process
        assert process.stdout is not None
        assert process.stderr is not None
        self._reader = asyncio.create_task(self._keep_words(process.stderr))
        try:
            line = await asyncio.wait_for(process.stdout.readline(), _START_SECONDS)
        except TimeoutError:
            await self.aclose()
            raise EngineError(
                f"The embedded engine did not start within {_START_SECONDS} s",
                self._last_words(),
                "Try again, or choose another endpoint.",
            ) from None
        try:
            ready = json.loads(line)
            self._url, self._loaded = str(ready["url"]), str(ready["model"])
        except (ValueError, KeyError, TypeError):
            await process.wait()
            await self._reader
            self._reader = None
            self._process = None
            words = [word for word in self._words if word.strip()] or [_describe(process.returncode)]
            raise EngineError(
                one_line(words[0]),
                one_line(" ".join(words[1:])),
                "Or choose another endpoint.",
            ) from None

    async def _keep_words(self, stream: asyncio.StreamReader) -> None:
        while line := await stream.readline():
            self._words.append(line.decode("utf-8", "replace").rstrip())

    def _last_words(self) -> str:
        return one_line(" ".join(list(self._words)[-3:]))


def _plain_environment(environment: Mapping[str, str]) -> dict[str, str]:
    return {**os.environ, KEY_VARIABLE: environment[KEY_VARIABLE]}


def _describe(returncode: int | None) -> str:
    if returncode is not None and returncode < 0:
        try:
            return f"signal {signal.Signals(-returncode).name}"
        except ValueError:
            return f"signal {-returncode}"
    return f"exit status {returncode}"
