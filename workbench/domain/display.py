"""Escape untrusted text for the terminal, and format values for display."""

from __future__ import annotations

import re
import signal
from math import ceil

_ESCAPED = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
_INVISIBLE = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_JOINER = "\u200d"
_NAMES = {"\x1b": "\\e", "\0": "\\0", "\a": "\\a", "\b": "\\b", "\v": "\\v", "\f": "\\f"}


def escape_character(character: str) -> str:
    """Return a character's escape sequence: `\\e`, `\\x9b`, `\\u202e`."""
    return _NAMES.get(character) or character.encode("unicode_escape").decode()


def is_control(character: str) -> bool:
    """Whether a terminal might act on a character; LF and tab do not count."""
    return not character.isprintable() and re.match(_ESCAPED, character) is not None


def visible(text: str) -> str:
    """Escape every character that a terminal might act on, except LF and tab.

    Covers C0, DEL, C1, bidirectional controls, zero-width and tag characters and lone surrogates; a
    zero-width joiner between two characters that it may join (as in an emoji family) is kept.
    """
    if text.isprintable() or not re.search(_ESCAPED, text):
        return text

    def show(match: re.Match[str]) -> str:
        character, at = match.group(), match.start()
        joins = (
            character == _JOINER
            and 0 < at < len(text) - 1
            and text[at - 1] > "\u02ff"
            and text[at + 1] > "\u02ff"
        )
        return character if joins else escape_character(character)

    return re.sub(_ESCAPED, show, text)


def without_invisible(text: str) -> str:
    """Remove invisible characters, as copied along with an address, and surrounding whitespace."""
    return (text if text.isascii() else re.sub(_INVISIBLE, "", text)).strip()


def one_line(text: str, limit: int = 300) -> str:
    """Return untrusted text as one escaped line of at most `limit` characters."""
    line = visible(" ".join(text[: limit * 4].split()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def sentences(*parts: str) -> str:
    """Join the non-empty parts of a message as sentences of one paragraph."""
    return " ".join(part if part.endswith((".", "!", "?")) else f"{part}." for part in parts if part)


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: `1 token`, `2 tokens`, `3 branches`."""
    ending = "es" if noun.endswith(("s", "x", "ch", "sh")) else "s"
    return f"{count:,} {noun}{'' if count == 1 else ending}"


def show_seconds(seconds: float) -> str:
    """Format a waiting time: `250 ms`, `1.5 s`, `2 min 5 s`, `1 h 0 min`."""
    if seconds < 1:
        return f"{ceil(seconds * 1000)} ms"
    if seconds < 10:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    whole = ceil(seconds)
    for size, unit, smaller, of in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            return f"{whole // size:,} {unit} {whole % size // smaller} {of}"
    return f"{whole} s"


def show_exit(returncode: int | None) -> str:
    """Describe a process's return code: `exit status 3`, `signal SIGKILL`."""
    if returncode is None or returncode >= 0:
        return f"exit status {returncode}"
    names = {member.value: member.name for member in signal.Signals}
    return f"signal {names.get(-returncode, -returncode)}"


def percent(probability: float) -> str:
    """Format a probability: `29.3%`; only 0 is shown as `0.0%`, and only 1 as `100.0%`."""
    if 0 < probability < 0.0005:
        return "<0.1%"
    if 0.9995 <= probability < 1:
        return ">99.9%"
    return f"{probability * 100:.1f}%"


def figure(value: float | None, form: str, unit: str = "") -> str:
    """Format a figure; a dash if it is None."""
    return "—" if value is None else f"{value:{form}}{unit}"


def show_bytes(raw: bytes) -> str:
    """Format bytes that are not text: `\\xe2\\x80`."""
    return "".join(f"\\x{byte:02x}" for byte in raw)


_GLYPHS = str.maketrans({" ": "·", "\n": "⏎", "\t": "→"})
_LONGEST = 300
"""The most characters shown of a token: an endpoint without logprobs may send all its text as one."""


def token_text(text: str, raw: bytes | None = None) -> str:
    """Return a token's text with visible whitespace, truncated if long; its bytes if it has no text."""
    if not text:
        return show_bytes(raw) if raw else "∅"
    if len(text) > _LONGEST:
        return f"{token_text(text[:_LONGEST])}…"
    return visible(text).translate(_GLYPHS)


_ESCAPES = {"\\": "\\", "n": "\n", "t": "\t"}


def escaped(text: str) -> str:
    """Return a text as one line, with `\\n`, `\\t` and `\\\\` for newline, tab and backslash."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


def unescaped(text: str) -> str:
    """Undo `escaped`; a backslash before any other character is kept."""
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), text, flags=re.DOTALL)
