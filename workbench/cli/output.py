"""The output of commands: streamed text, and JSON."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from math import isfinite

from workbench.domain.choice import Token
from workbench.domain.display import visible
from workbench.domain.json_values import JsonValue
from workbench.domain.run import Failure, Run

INTERVAL = 1 / 30
"""Seconds between two updates of a streaming run's output."""
_DIVIDER = "---"


class Printer:
    """Prints the choices of a run in order of their index, and streams the first unfinished one.

    Exact if standard output is a pipe or a file; control characters are escaped on a terminal. Choices are
    separated by a line `---`.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._terminal = sys.stdout.isatty()
        self._index = 0
        self._characters = 0
        self._has_started = False

    async def follow(self) -> None:
        """Print new text until the run has ended."""
        while self._run.is_running:
            self.pull()
            await asyncio.sleep(INTERVAL)

    def pull(self) -> None:
        """Print the new text of the current choice."""
        choice = self._run.choices.get(self._index)
        while choice is not None:
            if choice.length > self._characters:
                self._put(choice.text[self._characters :])
                self._characters = choice.length
            following = self._run.choices.get(self._index + 1)
            if following is None or (choice.finish_reason is None and self._run.is_running):
                break
            self._divide()
            choice = following
        sys.stdout.buffer.flush()

    def finish(self) -> None:
        """Print the remaining text of all choices."""
        for choice in self._run.ordered:
            if choice.index < self._index:
                continue
            if choice.index > self._index:
                self._divide(choice.index)
            self._put(choice.text[self._characters :])
            self._characters = choice.length
        if self._terminal and self._has_started:
            self._put("\n")
        sys.stdout.buffer.flush()

    def _divide(self, index: int | None = None) -> None:
        if self._has_started:
            self._put(f"\n{_DIVIDER}\n")
        self._index = self._index + 1 if index is None else index
        self._characters = 0

    def _put(self, text: str) -> None:
        self._has_started = True
        shown = visible(text) if self._terminal else text
        sys.stdout.buffer.write(shown.encode("utf-8", "replace"))


def run_to_json(run: Run) -> dict[str, JsonValue]:
    """Return a run in the format of `--json`."""
    return {
        "outcome": run.outcome.value if run.outcome else None,
        "id": run.response_id or None,
        "created": run.created,
        "model": run.model or None,
        "choices": [
            {
                "index": choice.index,
                "text": choice.text,
                "finish_reason": choice.finish_reason,
                "tokens": [token_to_json(token) for token in choice],
            }
            for choice in run.ordered
        ],
        "usage": None if run.usage is None else asdict(run.usage),
        "timing": {"first_token": _rounded(run.first_token), "total": _rounded(run.total)},
        "notes": list(run.notes),
        "error": None if run.error is None else _failure_to_json(run.error),
    }


def token_to_json(token: Token) -> dict[str, JsonValue]:
    """Return a token and its alternatives in the format of `--json`."""
    return {
        **logprob_to_json(token.text, token.logprob, token.raw),
        "at": _rounded(token.at),
        "alternatives": [logprob_to_json(text, logprob, raw) for text, logprob, _, raw in token.alternatives],
    }


def print_json(value: JsonValue) -> None:
    """Print a JSON value; as ASCII on a terminal or if it contains lone surrogates."""
    sys.stdout.buffer.write(json_line(value, ensure_ascii=sys.stdout.isatty()))
    sys.stdout.buffer.flush()


def json_line(value: JsonValue, *, ensure_ascii: bool = False) -> bytes:
    """Return a JSON value as a line; ASCII if it contains lone surrogates. NaN and infinity become null."""
    value = _with_nulls(value)
    try:
        raw = json.dumps(value, ensure_ascii=ensure_ascii).encode()
    except UnicodeEncodeError:
        raw = json.dumps(value).encode()
    return raw + b"\n"


def _with_nulls(value: JsonValue) -> JsonValue:
    match value:
        case float() if not isfinite(value):
            return None
        case Mapping():
            return {name: _with_nulls(item) for name, item in value.items()}
        case list() | tuple():
            return list(map(_with_nulls, value))
    return value


def logprob_to_json(text: str, logprob: float | None, raw: bytes | None) -> dict[str, JsonValue]:
    """Return a token, with its bytes as a list of integers if they are not the UTF-8 encoding of its text."""
    found: dict[str, JsonValue] = {"text": text, "logprob": logprob}
    return found if raw is None else {**found, "bytes": list(raw)}


def _failure_to_json(failure: Failure) -> JsonValue:
    return {
        "title": failure.title,
        "message": failure.message,
        "hint": failure.hint,
        "status": failure.status,
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)
