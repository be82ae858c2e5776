"""API keys: read from the environment or a command, and never shown."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from urllib.parse import quote

from workbench.domain.display import one_line
from workbench.domain.endpoint import CommandKey, EnvironmentKey, KeySource
from workbench.domain.errors import EndpointError

MASK = "•••"
"""Replaces a key in text."""

_COMMAND_SECONDS = 60.0
_SAME_KEY_SECONDS = 10.0
"""Seconds during which a command that printed the refused key again is not run once more."""
_FAILURE_SECONDS = 2.0
"""Seconds during which a failed command is not run again."""
_MIN_LENGTH = 4
"""Minimum length of a key to redact: shorter ones are dummies for servers that accept any key."""


class Secret:
    """An API key that is not shown in its repr."""

    __slots__ = ("_spellings", "_value")

    def __init__(self, value: str = "") -> None:
        self._value = value
        # The key itself, escaped as in JSON, and escaped as in a URL.
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        spellings = (value, escaped, escaped.replace("/", "\\/"), quote(value, safe=""), quote(value))
        self._spellings = tuple(dict.fromkeys(filter(None, spellings)))

    def __repr__(self) -> str:
        return "Secret(…)"

    def __bool__(self) -> bool:
        return bool(self._value)

    def reveal(self) -> str:
        """Return the key, to be used in the request header only."""
        return self._value

    def redact(self, text: str) -> str:
        """Mask the key in a text, including escaped forms in which an endpoint may echo it."""
        if len(self._value) >= _MIN_LENGTH:
            for spelling in self._spellings:
                text = text.replace(spelling, MASK)
        return text


class Keys:
    """The API keys in use: a key command runs once, and again after its key was refused."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """`environment` is read each time a key is needed."""
        self._environment = environment
        self._printed: dict[CommandKey, asyncio.Task[Secret]] = {}
        self._refused: dict[CommandKey, tuple[Secret, float]] = {}
        """The last refused key of each command, and its time."""

    async def find(self, source: KeySource | None) -> Secret:
        """Return the key of a source; empty without a source.

        Concurrent callers wait for the same run of a command. Raises EndpointError if the source has no key,
        or one that cannot be sent in a header.
        """
        if not isinstance(source, CommandKey):
            return await _resolve(source, self._environment)
        if (task := self._printed.get(source)) is None:
            task = self._printed[source] = asyncio.create_task(self._print(source))
            # Retrieve the exception, in case every caller was cancelled before the command failed.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.wait({task})
        return task.result()

    async def _print(self, source: CommandKey) -> Secret:
        try:
            return await _resolve(source, self._environment)
        except Exception:
            # Later callers run the command again, but not all requests of a batch at once.
            asyncio.get_running_loop().call_later(_FAILURE_SECONDS, self._printed.pop, source, None)
            raise

    def refused(self, source: KeySource | None, key: Secret) -> bool:
        """Discard a command's key that an endpoint refused; return whether to retry with a new key.

        Returns False if the command has just printed the same key again.
        """
        if not isinstance(source, CommandKey):
            return False
        task = self._printed.get(source)
        if task is None or not task.done() or task.exception() or task.result().reveal() != key.reveal():
            return True
        now = asyncio.get_running_loop().time()
        before, when = self._refused.get(source, (Secret(), 0.0))
        if before.reveal() == key.reveal() and now - when < _SAME_KEY_SECONDS:
            return False
        self._refused[source] = key, now
        del self._printed[source]
        return True

    async def aclose(self) -> None:
        """Cancel the running commands."""
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
"""Matches text that may be a key: at least 16 characters, with letters and digits."""


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
        async with asyncio.timeout(_COMMAND_SECONDS):
            output, complaint = await process.communicate()
    except TimeoutError:
        output, complaint = b"", f"It printed nothing within {_COMMAND_SECONDS:.0f} s.".encode()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    key = output.decode("utf-8", "replace").strip()
    if process.returncode or not key:
        message = complaint.decode("utf-8", "replace")
        secrets = (value.strip() for name, value in environment.items() if _SECRET_NAME.search(name))
        for secret in (key, *secrets):
            message = Secret(secret).redact(message)
        raise EndpointError(
            "The command that prints the API key failed",
            one_line(_LIKE_A_KEY.sub(MASK, message)) or f"{argv[0]} printed no key.",
            "Run it in a shell to see why; it may want to be unlocked first.",
        )
    return key
