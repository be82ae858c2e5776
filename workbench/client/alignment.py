"""Text and tokens told beside it, brought together as pieces that always join to the text."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.client.spelling import is_placeholder, respell, respelled
from workbench.domain.choice import Alternative, Piece


def align(text: str, entries: Sequence[Piece], begun: bytes = b"") -> tuple[list[Piece], bytes]:
    """The pieces of a text by the tokens told for it, and the bytes of a character that they leave begun.

    `begun` is what the call before left. A token that is not where the text goes on adds no text and keeps
    its own bytes; text that no token accounts for becomes a piece without a logprob. Tokens that share a
    character: the last of them carries it.
    """
    if begun and text and not text.encode().startswith(begun):
        begun = b""
    if len(entries) == 1 and not begun:
        only = entries[0]
        if only.raw is None and only.text == text:
            return [only], b""
        if text and only.raw is None and only.text and text.endswith(only.text):
            return [Piece(text[: -len(only.text)]), only], b""
        if text:
            return [_lone(text, only)], b""
    return _walk(text, entries, begun)


def _lone(text: str, only: Piece) -> Piece:
    """A single token beside a text is what made it, however it is spelled."""
    if only.raw is not None or is_placeholder(only.text):
        return only._replace(text=text)
    for spelled in respelled(only.text):
        if spelled == text.encode():
            return _marked(only)._replace(text=text, raw=None)
    return only._replace(text=text, raw=only.text.encode() or None)


def _walk(text: str, entries: Sequence[Piece], begun: bytes) -> tuple[list[Piece], bytes]:
    data = text.encode()
    cursor, done = len(begun) if text else 0, 0
    left = begun if not text else b""
    pieces: list[Piece] = []
    if before := _held_back(data, entries, cursor):
        pieces.append(Piece(data[:before].decode()))
        cursor = done = before
    last = len(entries) - 1
    for place, told in enumerate(entries):
        entry, spelled, size = _match(data, cursor, told, is_last=place == last)
        if not size:
            raw = entry.raw if is_placeholder(entry.text) else (spelled or None)
            pieces.append(entry._replace(text="", raw=raw))
            left = _begun(left + spelled) if cursor == len(data) else b""
            continue
        cursor += size
        end = _boundary(data, done, cursor)
        added = data[done:end]
        done = end
        raw = None if added == spelled else spelled
        pieces.append(entry._replace(text=added.decode(), raw=raw))
        left = b""
    if done < len(data):
        pieces.append(Piece(data[done:].decode()))
    return pieces, left


def _held_back(data: bytes, entries: Sequence[Piece], cursor: int) -> int:
    """Bytes of text before that of the tokens: what a server held back as it might have been a stop text."""
    spelled = [one.text.encode() if one.raw is None else one.raw for one in entries]
    told = b"".join(spelled)
    before = len(data) - len(told)
    if cursor or before <= 0 or not told or told[0] & 0xC0 == 0x80:
        return 0
    is_aligned = bool(spelled[0]) and data.startswith(spelled[0])
    return before if data.endswith(told) and not is_aligned else 0


def _match(data: bytes, cursor: int, entry: Piece, *, is_last: bool) -> tuple[Piece, bytes, int]:
    """A token, its bytes as the text spells it, and how many of them stand at the cursor."""
    plain = entry.raw if entry.raw is not None else entry.text.encode()
    if not plain or is_placeholder(entry.text):
        return entry, b"", 0
    if data.startswith(plain, cursor):
        return entry, plain, len(plain)
    if entry.raw is None:
        for spelled in respelled(entry.text):
            for form in (spelled, spelled.removeprefix(b" ")) if cursor == 0 else (spelled,):
                if form and data.startswith(form, cursor):
                    return _marked(entry), spelled, len(form)
    if cursor == 0 and plain[:1] == b" " and len(plain) > 1 and data.startswith(plain[1:]):
        return entry, plain, len(plain) - 1
    rest = data[cursor:]
    if is_last and rest and plain.startswith(rest):
        # A stop text cut the token.
        return entry, plain, len(rest)
    return entry, plain, 0


def _marked(entry: Piece) -> Piece:
    alternatives: list[Alternative] = respell(list(entry.alternatives))
    return entry._replace(alternatives=alternatives)


def _boundary(data: bytes, low: int, at: int) -> int:
    """The last place up to `at`, not below `low`, where a character ends."""
    while low < at < len(data) and data[at] & 0xC0 == 0x80:
        at -= 1
    return at


def _begun(data: bytes) -> bytes:
    """The bytes where they begin one character and do not end it; else none."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        if error.start == 0 and error.reason == "unexpected end of data":
            return data
    return b""
