"""API keys, found where their profile says and shown nowhere."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from urllib.parse import quote

from workbench.domain.display import one_line
from workbench.domain.endpoint import CommandKey, EnvironmentKey, KeySource
from workbench.domain.errors import EndpointError

MASK = "•••"
"""Stands where a key was."""

_PATIENCE = 60.0
_ASKED_JUST_NOW = 10.0
"""Seconds within which a command that printed a refused key again is not asked once more."""
_FAILED_JUST_NOW = 2.0
"""Seconds within which a command that failed is not tried again."""
_LEAST = 4
"""Characters below which nothing is taken for a key: some servers want one and take any."""


class Secret:
    """A key that does not show in any representation."""

    __slots__ = ("_spellings", "_value")

    def __init__(self, value: str = "") -> None:
        self._value = value
        # As it is, as JSON may spell it, and as an address does.
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        spellings = (value, escaped, escaped.replace("/", "\\/"), quote(value, safe=""), quote(value))
        self._spellings = tuple(dict.fromkeys(filter(None, spellings)))

    def __repr__(self) -> str:
        return "Secret(…)"

    def __bool__(self) -> bool:
        return bool(self._value)

    def reveal(self) -> str:
        """The key itself, for the header alone."""
        return self._value

    def redact(self, text: str) -> str:
        """A text without the key, however an endpoint may escape it when echoing it."""
        if len(self._value) >= _LEAST:
            for spelling in self._spellings:
                text = text.replace(spelling, MASK)
        return text


class Keys:
    """The keys of a session: a command that prints one runs once, and again after the key was refused."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """`environment` is read again whenever one of its keys is needed."""
        self._environment = environment
        self._printed: dict[CommandKey, asyncio.Task[Secret]] = {}
        self._failed: dict[CommandKey, tuple[EndpointError, float]] = {}
        """Why a command printed no key, and when that was."""
        self._refused: dict[CommandKey, tuple[Secret, float]] = {}
        """The key that an endpoint refused last, and the time when that was."""

    async def find(self, source: KeySource | None) -> Secret:
        """The key of a source; empty where there is no source.

        All who want a command's key while it runs wait for the same one. Raises EndpointError where the
        source holds no key, or one that no header can carry.
        """
        if not isinstance(source, CommandKey):
            return await _resolve(source, self._environment)
        error, when = self._failed.get(source, (None, 0.0))
        if error is not None and asyncio.get_running_loop().time() - when < _FAILED_JUST_NOW:
            raise replace(error)
        if (task := self._printed.get(source)) is None:
            task = self._printed[source] = asyncio.create_task(self._print(source))
            # Where nobody waits any more, nobody else would look at a command that failed.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.wait({task})
        return task.result()

    async def _print(self, source: CommandKey) -> Secret:
        try:
            return await _resolve(source, self._environment)
        except BaseException as error:
            # What failed is tried again by whoever wants the key next, but not by all of a batch at once.
            self._printed.pop(source, None)
            if isinstance(error, EndpointError):
                self._failed[source] = error, asyncio.get_running_loop().time()
            raise

    def refused(self, source: KeySource | None, key: Secret) -> bool:
        """Forget a command's key that an endpoint refused; True where it is worth asking for another one.

        It is not where the command was asked just now and printed the same key again.
        """
        if not isinstance(source, CommandKey):
            return False
        task = self._printed.get(source)
        if task is None or not task.done() or task.result().reveal() != key.reveal():
            return True
        now = asyncio.get_running_loop().time()
        before, when = self._refused.get(source, (Secret(), 0.0))
        if before.reveal() == key.reveal() and now - when < _ASKED_JUST_NOW:
            return False
        self._refused[source] = key, now
        del self._printed[source]
        return True

    async def aclose(self) -> None:
        """End the commands that run."""
        tasks, self._printed = list(self._printed.values()), {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _resolve(source: KeySource | None, environment: Mapping[str, str]) -> Secret:
    match source:
        case None:
            return Secret()
        case EnvironmentKey(variable):
            key, where = environment.get(variable, "").strip(), variable
            if not key:
                raise EndpointError(
                    "There is no API key",
                    f"The environment variable {variable} is not set.",
                    f"Set it before starting: export {variable}=…",
                )
        case CommandKey(argv):
            key, where = await _printed_by(argv, environment), argv[0]
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise EndpointError(
            "The API key cannot be sent",
            f"What {where} holds has characters that no key has.",
            "Copy the key again, without quotes, blanks or other text around it.",
        )
    return Secret(key)


_SECRET_NAME = re.compile(r"key|token|secret|pass|credential|auth", re.IGNORECASE)
_LIKE_A_KEY = re.compile(r"(?=[\w.~+=-]*\d)(?=[\w.~+=-]*[A-Za-z])[\w.~+=-]{16,}")
"""A run of letters and digits as long as keys are."""


def _without_keys(text: str, known: Iterable[str]) -> str:
    """What a command complains of, without what is, or may well be, the key that it was to print."""
    for value in known:
        if len(value) >= _LEAST:
            text = text.replace(value, MASK)
    return _LIKE_A_KEY.sub(MASK, text)


async def _printed_by(argv: tuple[str, ...], environment: Mapping[str, str]) -> str:
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(environment),
        )
    except (OSError, ValueError) as error:
        raise EndpointError(
            "The command that prints the API key cannot be started",
            one_line(f"{argv[0]}: {getattr(error, 'strerror', None) or error}"),
            "Correct the endpoint's key command.",
        ) from None
    try:
        async with asyncio.timeout(_PATIENCE):
            output, complaint = await process.communicate()
    except TimeoutError:
        output, complaint = b"", f"It printed nothing within {_PATIENCE:.0f} s.".encode()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    key = output.decode("utf-8", "replace").strip()
    if process.returncode or not key:
        secrets = (value.strip() for name, value in environment.items() if _SECRET_NAME.search(name))
        message = _without_keys(complaint.decode("utf-8", "replace"), (key, *secrets))
        raise EndpointError(
            "The command that prints the API key failed",
            one_line(message) or f"{argv[0]} printed no key.",
            "Run it in a shell to see why; it may want to be unlocked first.",
        )
    return key
