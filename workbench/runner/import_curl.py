"""Import curl commands as drafts."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from workbench.client.urls import normalise
from workbench.domain.display import one_line
from workbench.domain.errors import BadValueError
from workbench.domain.json_values import parse_json
from workbench.domain.prompt import kind_of, prompt_to_editor
from workbench.domain.request import Request
from workbench.domain.session import Draft
from workbench.storage.endpoint_list import EndpointList, endpoint_for

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


@dataclass(frozen=True, slots=True)
class CurlCommand:
    """A parsed curl command."""

    url: str
    request: Request
    had_key: bool = False
    """Whether the command contained a key, which was dropped."""


@dataclass(frozen=True, slots=True)
class CurlDraft:
    """A draft made from a curl command."""

    draft: Draft
    notes: tuple[str, ...]
    """Remarks for the person: the endpoint, and that the command's key was left out."""


def draft_from_curl(text: str, loaded: EndpointList) -> CurlDraft:
    """Convert a curl command; its endpoint is the profile with the same address, else the address itself.

    Raises BadValueError if it is not a valid curl command, EndpointError if its URL is invalid.
    """
    command = curl_from_text(text.strip())
    request = command.request
    wanted = normalise(command.url)
    profiles = (profile for profile in loaded.endpoints.values() if profile.base_url)
    known = (profile for profile in profiles if normalise(profile.base_url) == wanted)
    base = f"{wanted.base}?{wanted.query}" if wanted.query else wanted.base
    endpoint = next(known, None) or endpoint_for(base, None, loaded)
    draft = Draft(
        endpoint=endpoint.name,
        model=request.model,
        prompt=prompt_to_editor(request.prompt),
        kind=kind_of(request.prompt),
        parameters=request.parameters,
    )
    notes = [f"It goes to {one_line(endpoint.name, 80)}."]
    if command.had_key:
        instead = "the one that this endpoint names" if endpoint.key else "none"
        notes.append(f"The key in the command was left out; {instead} is sent.")
    return CurlDraft(draft, tuple(notes))


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
