"""Parent's side of the process that renders chat templates."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass

from workbench.domain.display import one_line, show_exit
from workbench.domain.errors import TemplateError
from workbench.domain.json_values import JsonObject

_START_SECONDS = 20
_ENVIRONMENT = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "SYSTEMROOT", "TZ", "LANG", "LC_ALL")
"""Environment variables passed to the process: those that Python needs, but no API keys."""

_INVALID = "The template is not valid", "Correct the template, or choose another one."
_ERRORS = {
    "SecurityError": (
        "The template accessed something forbidden",
        "Templates may use strings, lists and their public methods, but no Python internals.",
    ),
    "RefusedByTemplate": (
        "The template refused the conversation",
        "The template itself refuses this conversation; change the turns or choose another template.",
    ),
    "UndefinedError": (
        "The template uses an undefined name",
        "The template expects a variable or a field that this conversation does not have.",
    ),
    "TemplateSyntaxError": _INVALID,
    "TemplateAssertionError": _INVALID,
    "TooLong": ("The template's output is too long", ""),
    "MemoryError": ("The template used too much memory", ""),
}
"""Title and hint by the exception's class in the process."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for rendering one prompt."""

    seconds: float = 2.0
    """Wall-clock time, excluding the start of the process."""
    characters: int = 2_000_000
    """Length of the output."""
    memory: int = 400_000_000
    """Address space of the process in bytes, if the system can limit it."""


class Sandbox:
    """A process that renders one template at a time; restarted after it exceeded a limit."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()
        self._exchange: asyncio.Task[str] | None = None

    @property
    def pid(self) -> int | None:
        """The process id; None unless the process is alive."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    async def render(self, source: str, variables: JsonObject) -> str:
        """Render a template.

        Cancelling a call leaves the process usable, as its exchange continues in the background.
        Raises TemplateError if the template is invalid, refuses, or exceeds a limit.
        """
        async with self._lock:
            if self._exchange is not None:
                with suppress(TemplateError):
                    await asyncio.shield(self._exchange)
            self._exchange = asyncio.create_task(self._ask(source, variables))
            text = await asyncio.shield(self._exchange)
            self._exchange = None
            return text

    async def aclose(self) -> None:
        """Kill the process."""
        exchange, self._exchange = self._exchange, None
        await self._end()
        if exchange is not None:
            with suppress(TemplateError):
                await exchange
            await self._end()

    async def _ask(self, source: str, variables: JsonObject) -> str:
        process = self._process if self.pid is not None else None
        process = process or await self._start()
        request = {"template": source, "variables": variables, "output_limit": self._limits.characters}
        line = json.dumps(request).encode() + b"\n"
        try:
            async with asyncio.timeout(self._limits.seconds):
                answer = await self._exchange_lines(process, line)
        except TimeoutError:
            await self._end()
            raise TemplateError(
                f"The template did not finish within {self._limits.seconds:g} s",
                "It was stopped.",
                "It loops forever, or does far more work than a template needs.",
            ) from None
        reply = json.loads(answer)
        if isinstance(text := reply.get("text"), str):
            return text
        raise _error(reply, self._limits)

    async def _exchange_lines(self, process: asyncio.subprocess.Process, line: bytes) -> bytes:
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(ConnectionError):
            process.stdin.write(line)
            await process.stdin.drain()
        try:
            answer = await process.stdout.readline()
        except ValueError:  # longer than the reader's limit
            answer = b""
        if not answer.endswith(b"\n"):
            await self._end()
            raise TemplateError(
                "The template's process stopped",
                f"It ended with {show_exit(process.returncode)}.",
                "The template used too much memory or nests too deeply.",
            )
        return answer

    async def _start(self) -> asyncio.subprocess.Process:
        limits = self._limits
        # -P: do not import modules from the current directory.
        worker = (sys.executable, "-P", "-m", "workbench.chat.jinja_worker")
        try:
            process = await asyncio.create_subprocess_exec(
                *(*worker, str(limits.memory), str(limits.seconds)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                # A character takes at most twelve bytes in a line of ASCII JSON.
                limit=limits.characters * 12 + 65536,
            )
        except OSError as error:
            raise _not_started(one_line(f"{sys.executable}: {error.strerror or error}")) from None
        self._process = process
        assert process.stdout is not None
        ready = b""
        with suppress(TimeoutError):
            async with asyncio.timeout(_START_SECONDS):
                ready = await process.stdout.readline()
        if not ready:
            await self._end()
            raise _not_started(f"It ended with {show_exit(process.returncode)}.")
        return process

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
        await process.wait()


def _not_started(why: str) -> TemplateError:
    return TemplateError(
        "The process that renders templates did not start", why, "Try again, or choose a built-in template."
    )


def _error(reply: JsonObject, limits: Limits) -> TemplateError:
    kind, message, line = str(reply.get("error")), one_line(str(reply.get("message"))), reply.get("line")
    if kind == "TooLong":
        message = f"More than {limits.characters:,} characters were rendered."
    elif kind == "MemoryError":
        message = f"It may use {limits.memory // 1_000_000} MB."
    elif kind not in _ERRORS:
        message = f"{one_line(kind, 40)}: {message}"
    where = f"Line {line}: " if isinstance(line, int) else ""
    title, hint = _ERRORS.get(kind, ("The template failed", ""))
    return TemplateError(title, where + message, hint)
