"""Text and the tokens listed for it, brought together as tokens whose texts always join to the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.client.byte_encoding import Encoding, decode, decode_alternatives, is_placeholder
from workbench.domain.choice import ReceivedToken

_REPLACED = "\ufffd"
"""Stands in a token's name for bytes that a server could not decode."""
_MOST_UNNAMED = 64
"""Bytes of text that such a token may have."""


class Aligned(NamedTuple):
    """The tokens of a text, and what the next part of the same choice needs to know."""

    tokens: list[ReceivedToken]
    incomplete: bytes = b""
    """The bytes of a character that the tokens began and did not end."""
    encoding: Encoding | None = None
    """How the tokens' names are encoded, as far as one of them has shown it."""
    is_off: bool = False
    """Whether a token was left out that is another one than the text has in its place."""


class _Match(NamedTuple):
    size: int
    """How many bytes of the text are the token's."""
    data: bytes
    """The token's own bytes."""
    encoding: Encoding | None


def align(
    text: str, entries: Sequence[ReceivedToken], incomplete: bytes = b"", encoding: Encoding | None = None
) -> Aligned:
    """Bring a text and the tokens listed for it together.

    `incomplete` and `encoding` are what the call before found. A token that adds no text keeps its own bytes;
    text that no token accounts for becomes a token without a logprob. Tokens that share a character: the last
    of them carries it. Where text stays unaccounted for, tokens that name something else are left out.
    """
    if not incomplete and encoding is None and _are_text(entries, text):
        return Aligned(list(entries))
    if len(entries) == 1 and text and is_placeholder(entries[0].text):
        return Aligned([entries[0]._replace(text=text)], b"", encoding)
    return _walk(text, entries, incomplete, encoding)


def _are_text(entries: Sequence[ReceivedToken], text: str) -> bool:
    """Whether the tokens are the text as they stand, as those of nearly all answers are."""
    names = [entry.text for entry in entries if entry.raw is None]
    return len(names) == len(entries) and "".join(names) == text and not any(map(is_placeholder, names))


def _walk(
    text: str, entries: Sequence[ReceivedToken], incomplete: bytes, encoding: Encoding | None
) -> Aligned:
    data = text.encode()
    if text and not data.startswith(incomplete):
        incomplete = b""
    cursor, done = len(incomplete) if text else 0, 0
    left = incomplete if not text else b""
    tokens: list[ReceivedToken] = []
    elsewhere: set[int] = set()
    if before := _held_back(data, entries, cursor):
        tokens.append(ReceivedToken(data[:before].decode()))
        cursor = done = before
    for index, entry in enumerate(entries):
        size, raw, found = _match(data, cursor, entries, index, encoding)
        if not size and cursor == len(data):
            raw, found = _begins(left, entry, encoding)
            left = _incomplete_tail(left + raw)
        elif not size and raw:
            elsewhere.add(len(tokens))
        encoding = found or encoding
        cursor += size
        end = _boundary(data, done, cursor)
        added = data[done:end]
        done = end
        if size:
            left = b""
        alternatives = entry.alternatives
        if encoding is not None:
            alternatives = decode_alternatives(alternatives, encoding)
        own = entry.raw if is_placeholder(entry.text) else (raw or None)
        if own == added:
            own = None
        tokens.append(entry._replace(text=added.decode(), alternatives=alternatives, raw=own))
    if done < len(data):
        tokens = [token for index, token in enumerate(tokens) if index not in elsewhere]
        tokens.append(ReceivedToken(data[done:].decode()))
    return Aligned(tokens, left, encoding, done < len(data) and bool(elsewhere))


def _held_back(data: bytes, entries: Sequence[ReceivedToken], cursor: int) -> int:
    """Bytes of text before that of the tokens: what a server held back as it might have been a stop text."""
    plain = [entry.text.encode() if entry.raw is None else entry.raw for entry in entries]
    joined = b"".join(plain)
    before = len(data) - len(joined)
    if cursor or before <= 0 or not joined or joined[0] & 0xC0 == 0x80:
        return 0
    is_aligned = bool(plain[0]) and data.startswith(plain[0])
    return before if data.endswith(joined) and not is_aligned else 0


def _match(
    data: bytes, cursor: int, entries: Sequence[ReceivedToken], index: int, encoding: Encoding | None
) -> _Match:
    """How much of the text at the cursor is a token's."""
    entry, following = entries[index], entries[index + 1 : index + 2]
    plain = entry.text.encode() if entry.raw is None else entry.raw
    if not plain or is_placeholder(entry.text):
        return _Match(0, b"", None)
    if data.startswith(plain, cursor):
        return _Match(len(plain), plain, None)
    if entry.raw is None:
        for candidate in Encoding if encoding is None else (encoding,):
            decoded = decode(entry.text, candidate)
            for form in () if decoded is None else (decoded, decoded.removeprefix(b" ")):
                if form and data.startswith(form, cursor) and (form == decoded or not cursor):
                    return _Match(len(form), decoded or b"", candidate)
    if not cursor and plain[:1] == b" " and len(plain) > 1 and data.startswith(plain[1:]):
        return _Match(len(plain) - 1, plain, None)
    if not following and cursor < len(data) and plain.startswith(data[cursor:]):
        # A stop text cut the token.
        return _Match(len(data) - cursor, plain, None)
    if _REPLACED in entry.text:
        return _Match(_unnamed(data, cursor, following), plain, None)
    if entry.raw is not None:
        return _Match(_fragment(data, cursor, plain, is_only=len(entries) == 1), plain, None)
    return _Match(0, plain, None)


def _unnamed(data: bytes, cursor: int, following: Sequence[ReceivedToken]) -> int:
    """How much of the text is a token's whose name does not tell its bytes: all up to the next token."""
    if not following:
        return len(data) - cursor
    if _REPLACED in following[0].text:
        return 0
    plain = following[0].text.encode() if following[0].raw is None else following[0].raw
    return max(data.find(plain, cursor, cursor + len(plain) + _MOST_UNNAMED) - cursor, 0)


def _fragment(data: bytes, cursor: int, raw: bytes, *, is_only: bool) -> int:
    """How much of the text is a token's that is part of a character whose other parts are not listed."""
    if is_only and not cursor and data.endswith(raw):
        return len(data)
    if data.startswith(_REPLACED.encode(), cursor):
        # The text has U+FFFD where the token has its bytes.
        return len(_REPLACED.encode())
    end = cursor + 1
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return end - cursor if data[cursor:end].endswith(raw) else 0


def _begins(left: bytes, entry: ReceivedToken, encoding: Encoding | None) -> tuple[bytes, Encoding | None]:
    """The bytes of a token that adds no text, and their encoding where they go on with a character."""
    if entry.raw is not None:
        return entry.raw, None
    if is_placeholder(entry.text):
        return b"", None
    if encoding is not None:
        return decode(entry.text, encoding) or entry.text.encode(), None
    for known in Encoding:
        decoded = decode(entry.text, known)
        if decoded is not None and _incomplete_tail(left + decoded):
            return decoded, known
    return entry.text.encode(), None


def _boundary(data: bytes, low: int, at: int) -> int:
    """The last place up to `at`, not below `low`, where a character ends."""
    while low < at < len(data) and data[at] & 0xC0 == 0x80:
        at -= 1
    return at


def _incomplete_tail(data: bytes) -> bytes:
    """The bytes where they begin one character and do not end it; else none."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        if error.start == 0 and error.reason == "unexpected end of data":
            return data
    return b""
