"""The bytes behind a token's name: servers write tokens that are not text in several encodings."""

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
    """A token's name, read."""

    text: str
    id: int | None = None
    raw: bytes | None = None
    """The token's bytes where they are not the UTF-8 of `text`."""


def read_name(name: str) -> Name:
    """The text, id or bytes that a token's name stands for by itself.

    `bytes:\\xe2\\x80` (OpenAI) are bytes, `token_id:264` (vLLM) is an id; anything else is text.
    """
    if name.startswith("bytes:"):
        return of_bytes(_unescape(name[6:]))
    if match := _TOKEN_ID.fullmatch(name):
        return Name(name, int(match[1]))
    if not name.isascii() and any("\ud800" <= character <= "\udfff" for character in name):
        return Name(whole(name), None, name.encode("utf-8", "surrogatepass"))
    return Name(name)


def of_bytes(raw: bytes) -> Name:
    """The name of a token known by its bytes; no text where they are none."""
    try:
        return Name(raw.decode())
    except UnicodeDecodeError:
        return Name("", None, raw)


def is_placeholder(name: str) -> bool:
    """Whether a name gives an id in place of the text."""
    return _TOKEN_ID.fullmatch(name) is not None


def whole(text: str) -> str:
    """Text with surrogate pairs joined and lone halves replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Encoding(Enum):
    """How a server writes tokens whose bytes are not plain text into their names."""

    ESCAPES = auto()
    r"""Bytes as literal escapes: `\xe6\xbc`."""
    BYTE_FALLBACK = auto()
    """SentencePiece's: `▁foo` for a blank, `<0x0A>` for a byte."""
    BYTE_LEVEL = auto()
    """Byte-level BPE's (GPT-2): a printable character for each byte, `Ġfoo` for a blank."""


def decode(name: str, encoding: Encoding) -> bytes | None:
    """The bytes of a token whose name is in an encoding; None where the name is plain in it."""
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
    """Alternatives with the names that an encoding has in place of plain text decoded."""
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
    """The alphabet in which byte-level BPE (GPT-2's) spells bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {chr(byte): byte for byte in plain}
    others = (byte for byte in range(256) if byte not in plain)
    table.update({chr(256 + index): byte for index, byte in enumerate(others)})
    return table
