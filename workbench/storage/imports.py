"""Import runs from JSON Lines, and requests from curl commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from datetime import datetime
from itertools import repeat
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct

from workbench.domain.choice import Alternative, Choice, ReceivedToken
from workbench.domain.errors import BadValueError, StorageError
from workbench.domain.json_values import JsonObject, JsonValue, parse_json
from workbench.domain.request import Request
from workbench.domain.run import Outcome, Run, Usage
from workbench.storage.token_columns import are_times
from workbench.storage.toml_files import in_utc


class CurlCommand(Struct, frozen=True):
    """A parsed curl command."""

    url: str
    request: Request
    had_key: bool = False
    """Whether the command contained a key, which was dropped."""


def runs_from_json_lines(text: str) -> list[Run]:
    """Read the runs of a JSON Lines export. Raises StorageError, which names the invalid line."""
    runs = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                runs.append(_run_from_json(parse_json(line)))
            except BadValueError as error:
                raise _bad(error.title, number) from None
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
                raise _bad(f"it is not a run of a completions endpoint ({error})", number) from None
    return runs


def _run_from_json(record: JsonValue) -> Run:
    if not isinstance(record, Mapping):
        raise TypeError("not an object")
    body = record.get("request", {})
    if not isinstance(body, Mapping):
        raise TypeError("its request is not an object")
    run = Run(Request.from_body(body), str(record.get("endpoint", "")), sent=body)
    run.id = str(record.get("run") or run.id)
    if started := record.get("started"):
        run.started = in_utc(datetime.fromisoformat(str(started)))
    run.model, run.response_id = str(record.get("model") or ""), str(record.get("id") or "")
    created = record.get("created")
    run.created = created if isinstance(created, int) and not isinstance(created, bool) else None
    run.outcome = Outcome(str(record.get("outcome") or Outcome.COMPLETE))
    usage = record.get("usage")
    if isinstance(usage, Mapping):
        names = ("prompt_tokens", "completion_tokens", "total_tokens")
        run.usage = Usage(*(_integer(usage.get(name)) for name in names))
    for position, choice in enumerate(_list(record.get("choices"))):
        if not isinstance(choice, Mapping):
            raise TypeError("a choice is not an object")
        _add_choice(run.choice(max(_integer(choice.get("index", position)), 0)), choice)
    return run


def _add_choice(choice: Choice, record: JsonObject) -> None:
    reason = record.get("finish_reason")
    choice.finish_reason = None if reason is None else str(reason)
    logprobs = record.get("logprobs")
    listed = logprobs if isinstance(logprobs, Mapping) else {}
    tokens = list(map(str, _list(listed.get("tokens"))))
    if "".join(tokens) != record.get("text", ""):
        tokens, listed = [str(record.get("text", ""))], {}
    own = _list(listed.get("token_logprobs")) or repeat(None, len(tokens))
    tops = _list(listed.get("top_logprobs")) or repeat(None, len(tokens))
    arrived = [_number(at) or 0.0 for at in _list(record.get("arrived"))]
    times = arrived if len(arrived) == len(tokens) and are_times(arrived) else [0.0] * len(tokens)
    for token, logprob, top, at in zip(tokens, own, tops, times, strict=True):
        others = top.items() if isinstance(top, Mapping) else ()
        alternatives = [Alternative(word, _number(value)) for word, value in others]
        choice.append(ReceivedToken(token, _number(logprob), alternatives), at)


def _list(value: JsonValue) -> list[JsonValue]:
    return list(value) if isinstance(value, list) else []


def _integer(value: JsonValue) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _number(value: JsonValue) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float("-inf") if value == -9999 else float(value)


_DATA = {"-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--json"}
_HEADERS = {"-H", "--header"}
_USERS = {"-u", "--user"}
_IGNORED_WITH_VALUE = re.compile(
    r"-[XomAbxE]|--(request|output|max-time|connect-timeout|retry|user-agent|cookie|proxy|cacert|cert|key)"
)
_KEY_HEADER = re.compile(r"\s*(authorization|proxy-authorization|cookie|[\w-]*(key|token|secret))\s*:", re.I)
_ANSI_QUOTED = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ANSI_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{1,4})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_COMMENTS_BEFORE = re.compile(r"\A(?:\s*(?:#[^\n]*)?\n)+")
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "a": "\a", "e": "\x1b"}


def is_curl(text: str) -> bool:
    """Whether a text starts with `curl`."""
    return re.match(r"\s*curl\s", text) is not None


def curl_from_text(text: str) -> CurlCommand:
    """Parse a curl command; its headers are dropped, including any key.

    Raises BadValueError if it has no JSON data, reads its data from a file, or sends chat messages.
    """
    plain = _COMMENTS_BEFORE.sub("", text)
    plain = _ANSI_QUOTED.sub(lambda found: shlex.quote(_ANSI_ESCAPE.sub(_escaped_character, found[1])), plain)
    try:
        arguments = shlex.split(plain.replace("\\\r\n", " ").replace("\\\n", " "))
    except ValueError as error:
        raise _no_curl(f"its quotes do not close ({error})") from None
    if not arguments or arguments.pop(0) != "curl":
        raise _no_curl("it does not begin with curl")
    url, data, had_key = "", "", False
    left = iter(arguments)
    for word in left:
        name, equals, value = word.partition("=")
        if word in _DATA:
            data += next(left, "")
        elif name in _DATA and equals:
            data += value
        elif word.startswith("-d") and not word.startswith("--"):
            data += word[2:]
        elif word == "--url":
            url = next(left, "")
        elif word in _USERS:
            had_key = bool(next(left, "")) or had_key
        elif word in _HEADERS or (word.startswith("-H") and len(word) > 2):
            header = next(left, "") if word in _HEADERS else word[2:]
            had_key = _KEY_HEADER.match(header) is not None or had_key
        elif _IGNORED_WITH_VALUE.fullmatch(word):
            next(left, None)
        elif not word.startswith("-") and (not url or "://" in word):
            url = word
    return _curl_command(url, data, had_key=had_key)


def _curl_command(url: str, data: str, *, had_key: bool) -> CurlCommand:
    if data.startswith("@"):
        raise _no_curl("its data is in a file")
    try:
        body = parse_json(data)
    except ValueError as error:
        raise _no_curl(f"its data is not JSON ({error})") from None
    if not isinstance(body, dict) or not url:
        raise _no_curl("it needs an address and a JSON object as data")
    if "prompt" not in body and "messages" in body:
        raise _no_curl("it sends messages of a chat, and no prompt")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _no_curl("its address is none") from None
    if parts.username or parts.password:
        url, had_key = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])), True
    return CurlCommand(url, Request.from_body(body), had_key)


def _escaped_character(found: re.Match[str]) -> str:
    """Return the character of a shell escape within `$'…'`."""
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _ANSI.get(found[3], found[3])


def _no_curl(why: str) -> BadValueError:
    return BadValueError(
        f"This curl command cannot be imported: {why}",
        hint="It must look like: curl URL -H … -d '{\"prompt\": …}'",
    )


def _bad(why: str, line: int) -> StorageError:
    return StorageError(
        f"Line {line} cannot be imported", why, "Each line is one run as this program exports it.", line=line
    )
