"""Align text with the tokens listed for it; the texts of the resulting tokens always join to the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.client.byte_encoding import Encoding, decode, decode_alternatives, is_placeholder
from workbench.domain.choice import ReceivedToken

_REPLACED = "\ufffd"
"""Replaces bytes in a token's name that a server could not decode."""
_MOST_UNKNOWN = 64
"""Maximum bytes of text of such a token."""


class Aligned(NamedTuple):
    """The tokens of a text, and the state for aligning the next text of the same choice."""

    tokens: list[ReceivedToken]
    incomplete: bytes = b""
    """The incomplete UTF-8 sequence at the end of the tokens."""
    encoding: Encoding | None = None
    """Encoding of the tokens' names; None until a name reveals it."""
    is_off: bool = False
    """Whether tokens that do not match the text were left out."""


class _Match(NamedTuple):
    size: int
    """Number of bytes of the text that belong to the token."""
    data: bytes
    """The token's bytes."""
    encoding: Encoding | None


def align(
    text: str, entries: Sequence[ReceivedToken], incomplete: bytes = b"", encoding: Encoding | None = None
) -> Aligned:
    """Align a text with the tokens listed for it.

    `incomplete` and `encoding` are results of the previous call for the choice. A token that adds no text
    keeps its bytes; text without a token becomes a token without a logprob. Of tokens that share a character,
    the last has its text. If text remains without a token, tokens that do not match the text are left out.
    """
    if not incomplete and encoding is None and _are_text(entries, text):
        return Aligned(list(entries))
    if len(entries) == 1 and text and is_placeholder(entries[0].text):
        return Aligned([entries[0]._replace(text=text)], b"", encoding)
    return _walk(text, entries, incomplete, encoding)


def _are_text(entries: Sequence[ReceivedToken], text: str) -> bool:
    """Whether the names of the tokens join to the text, as in nearly all answers."""
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
    if before := _held_back_size(data, entries, cursor):
        tokens.append(ReceivedToken(data[:before].decode()))
        cursor = done = before
    for index, entry in enumerate(entries):
        size, raw, found = _match(data, cursor, entries, index, encoding)
        if not size and cursor == len(data):
            raw, found = _textless_bytes(left, entry, encoding)
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


def _held_back_size(data: bytes, entries: Sequence[ReceivedToken], cursor: int) -> int:
    """Return the bytes of text before the tokens: text that was held back as a possible stop sequence."""
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
    """Match a token against the text at the cursor."""
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
        # The token was truncated at a stop sequence.
        return _Match(len(data) - cursor, plain, None)
    if _REPLACED in entry.text:
        return _Match(_unknown_size(data, cursor, following), plain, None)
    if entry.raw is not None:
        return _Match(_fragment_size(data, cursor, plain, is_only=len(entries) == 1), plain, None)
    return _Match(0, plain, None)


def _unknown_size(data: bytes, cursor: int, following: Sequence[ReceivedToken]) -> int:
    """Return the size of a token whose bytes are unknown: it extends to the next token."""
    if not following:
        return len(data) - cursor
    if _REPLACED in following[0].text:
        return 0
    plain = following[0].text.encode() if following[0].raw is None else following[0].raw
    return max(data.find(plain, cursor, cursor + len(plain) + _MOST_UNKNOWN) - cursor, 0)


def _fragment_size(data: bytes, cursor: int, raw: bytes, *, is_only: bool) -> int:
    """Return the text size of a token that is part of a character whose other parts are not listed."""
    if is_only and not cursor and data.endswith(raw):
        return len(data)
    if data.startswith(_REPLACED.encode(), cursor):
        # The text has U+FFFD instead of the token's bytes.
        return len(_REPLACED.encode())
    end = cursor + 1
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return end - cursor if data[cursor:end].endswith(raw) else 0


def _textless_bytes(
    left: bytes, entry: ReceivedToken, encoding: Encoding | None
) -> tuple[bytes, Encoding | None]:
    """Return a textless token's bytes, and their encoding if they form an incomplete character in it."""
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
    """Return the last character boundary in `low` … `at`, or `low`."""
    while low < at < len(data) and data[at] & 0xC0 == 0x80:
        at -= 1
    return at


def _incomplete_tail(data: bytes) -> bytes:
    """Return the bytes if they are one incomplete UTF-8 sequence, else empty bytes."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        if error.start == 0 and error.reason == "unexpected end of data":
            return data
    return b""
