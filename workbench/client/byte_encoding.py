"""Decode token names: servers encode the bytes of tokens that are not text in several ways."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple

from workbench.domain.choice import Alternative

_ESCAPE = re.compile(r"\\x[0-9a-fA-F]{2}")
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_TOKEN_ID = re.compile(r"token_id:(\d{1,18})")
_ESCAPE_PAIR = re.compile(r"\\x([0-9a-fA-F]{2})|(.)", re.DOTALL)


class Name(NamedTuple):
    """A decoded token name."""

    text: str
    id: int | None = None
    raw: bytes | None = None
    """The token's bytes; None if they are the UTF-8 of `text`."""


def read_name(name: str) -> Name:
    """Return the text, id or bytes of a token's name.

    `bytes:\\xe2\\x80` (OpenAI) gives bytes, `token_id:264` (vLLM) an id; any other name is text.
    """
    if name.startswith("bytes:"):
        return of_bytes(_unescape(name[6:]))
    if match := _TOKEN_ID.fullmatch(name):
        return Name(name, int(match[1]))
    if not name.isascii() and any("\ud800" <= character <= "\udfff" for character in name):
        return Name(whole(name), None, name.encode("utf-8", "surrogatepass"))
    return Name(name)


def of_bytes(raw: bytes) -> Name:
    """Return the name of a token with these bytes; its text is empty if they are not valid UTF-8."""
    try:
        return Name(raw.decode())
    except UnicodeDecodeError:
        return Name("", None, raw)


def is_placeholder(name: str) -> bool:
    """Whether a name contains an id instead of text."""
    return _TOKEN_ID.fullmatch(name) is not None


def whole(text: str) -> str:
    """Join surrogate pairs in a text, and replace lone surrogates by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Encoding(Enum):
    """The encodings of token names whose bytes are not plain text."""

    ESCAPES = auto()
    r"""Bytes as literal escapes: `\xe6\xbc`."""
    BYTE_FALLBACK = auto()
    """SentencePiece: `▁foo` for a space, `<0x0A>` for a byte."""
    BYTE_LEVEL = auto()
    """Byte-level BPE (GPT-2): a printable character for each byte, `Ġfoo` for a space."""


def decode(name: str, encoding: Encoding) -> bytes | None:
    """Return the bytes of a token's name in an encoding; None if the name does not use it."""
    match encoding:
        case Encoding.ESCAPES:
            return _unescape(name) if _ESCAPE.search(name) else None
        case Encoding.BYTE_FALLBACK:
            if match := _BYTE.fullmatch(name):
                return bytes.fromhex(match[1])
            return name.replace("▁", " ").encode("utf-8", "replace") if "▁" in name else None
        case Encoding.BYTE_LEVEL:
            table = _byte_level()
            if name.isascii() or not all(character in table for character in name):
                return None
            return bytes(table[character] for character in name)


def decode_alternatives(alternatives: Sequence[Alternative], encoding: Encoding) -> list[Alternative]:
    """Decode the names of alternatives in an encoding."""
    found = []
    for alternative in alternatives:
        raw = decode(alternative.text, encoding) if alternative.raw is None else None
        name = Name(alternative.text, None, alternative.raw) if raw is None else of_bytes(raw)
        found.append(alternative._replace(text=name.text, raw=name.raw))
    return found


def _unescape(text: str) -> bytes:
    return b"".join(
        bytes.fromhex(match[1]) if match[1] else match[2].encode("utf-8", "surrogatepass")
        for match in _ESCAPE_PAIR.finditer(text)
    )


@lru_cache(maxsize=1)
def _byte_level() -> dict[str, int]:
    """Return the bytes by character of byte-level BPE, as in GPT-2's `bytes_to_unicode`."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {chr(byte): byte for byte in plain}
    others = (byte for byte in range(256) if byte not in plain)
    table.update({chr(256 + index): byte for index, byte in enumerate(others)})
    return table
