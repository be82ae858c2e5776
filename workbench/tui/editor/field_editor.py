"""The editor of a parameter's value, and the conversion between values and their text."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from textual import events
from textual.message import Message

from workbench.domain.display import is_control, visible
from workbench.domain.errors import BadValueError
from workbench.domain.json_values import JsonObject, JsonValue, parse_json
from workbench.domain.parameter_table import Field, Kind, ParameterValue
from workbench.domain.parameter_values import format_value, parse_value, value_from_json
from workbench.tui.editor.inputs import ExactTextArea

Tokenizer: TypeAlias = Callable[[str], Awaitable[tuple[int, ...]]]
"""Returns the token ids of a text from an endpoint's tokenizer; raises WorkbenchError."""


def has_lines(field: Field) -> bool:
    """Return whether a field is edited as one entry per line."""
    return field.kind in (Kind.TEXTS, Kind.BIASES)


def field_to_text(field: Field, value: ParameterValue | None) -> str:
    """Return the text of a value for editing; the inverse of `field_from_text`."""
    match value:
        case None:
            return ""
        case tuple():
            return "\n".join(_quoted(text) for text in value)
        case Mapping():
            return "\n".join(f"{key}={format_value(bias)}" for key, bias in value.items())
        case _:
            return format_value(value)


def field_from_text(field: Field, text: str) -> ParameterValue | None:
    """Return the value of an edited text; None if it is empty, which unsets the field.

    Raises BadValueError if it is not of the field's type; ranges are not checked.
    """
    if not text.strip() and (field.kind is not Kind.TEXTS or not text.strip("\n")):
        return None
    if field.kind is Kind.TEXTS:
        return value_from_json(field, [_unquoted(line) for line in text.split("\n") if line])
    return parse_value(field, text)


def bias_texts(text: str) -> tuple[str, ...]:
    """Return the token texts in lines of biases that are written `"text"=BIAS`."""
    return tuple(found[0] for line in text.split("\n") if (found := _split_quoted(line)) is not None)


def with_ids(text: str, ids: Mapping[str, tuple[int, ...]]) -> str:
    """Replace the token texts in lines of biases by ids.

    Raises BadValueError for a text that is not a single token.
    """
    lines = []
    for line in text.split("\n"):
        if (found := _split_quoted(line)) is None:
            lines.append(line)
            continue
        token, bias = found
        known = ids.get(token, ())
        if len(known) != 1:
            raise BadValueError(
                f"logit_bias: {json.dumps(token)} is {len(known)} tokens, not one",
                hint=f"Its ids: {', '.join(map(str, known)) or 'none'}.",
                field="logit_bias",
            )
        lines.append(f"{known[0]}={bias}")
    return "\n".join(lines)


def extra_to_text(extra: JsonObject) -> str:
    """Return the `extra` table as lines of `KEY=JSON`."""
    return "\n".join(f"{_key(name)}={json.dumps(value, ensure_ascii=True)}" for name, value in extra.items())


def extra_from_text(text: str) -> dict[str, JsonValue]:
    """Return the table that lines of `KEY=JSON` define. Raises BadValueError, which names the line."""
    extra: dict[str, JsonValue] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        if (found := _split_key(line)) is None:
            raise _bad_extra(number, "is not KEY=JSON")
        name, rest = found
        if name in extra:
            raise _bad_extra(number, f"repeats {name}")
        try:
            extra[name] = parse_json(rest, is_strict=True)
        except ValueError:
            raise _bad_extra(number, f"does not have JSON after {visible(name)}=") from None
    return extra


def _quoted(text: str) -> str:
    # Quotes stay unescaped, as they are typed; control characters are escaped.
    escaped = json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"')
    return "".join(
        f"\\u{ord(char):04x}" if char not in "\n\t" and is_control(char) and char < "\U00010000" else char
        for char in escaped
    )


def _unquoted(line: str) -> str:
    try:
        text: str = json.loads('"' + line.replace('"', '\\"') + '"', strict=False)
    except ValueError:
        return line
    return text


def _split_quoted(line: str) -> tuple[str, str] | None:
    """Return the text and the value of a line `"TEXT"=VALUE`; None for any other line."""
    stripped = line.strip()
    if not stripped.startswith('"'):
        return None
    try:
        text, end = json.JSONDecoder(strict=False).raw_decode(stripped)
    except ValueError:
        return None
    gap, equals, value = stripped[end:].partition("=")
    return (text, value.strip()) if equals and not gap.strip() else None


def _key(name: str) -> str:
    return json.dumps(name) if not name or name != name.strip() or set(name) & set('="\n\\') else name


def _split_key(line: str) -> tuple[str, str] | None:
    """Return the key and the value of a line `KEY=VALUE` or `"KEY"=VALUE`; None for any other line."""
    if line.lstrip().startswith('"'):
        return _split_quoted(line)
    name, equals, value = line.strip().partition("=")
    return (name.strip(), value) if equals and name.strip() else None


def _bad_extra(line: int, why: str) -> BadValueError:
    return BadValueError(f"extra: line {line} {why}", hint="Write a line a key: KEY=JSON.", field="extra")


class FieldEditor(ExactTextArea):
    """A text area of one or several lines; Enter or Tab accepts what was typed, Escape cancels."""

    DEFAULT_CSS = """
    FieldEditor { height: auto; max-height: 6; border: none; padding: 0 1; display: none;
        background: $boost; }
    FieldEditor.-editing { display: block; }
    """

    class Entered(Message):
        """What was typed was accepted."""

    class Cancelled(Message):
        """Editing was cancelled."""

    def __init__(self) -> None:
        self._has_lines = False
        super().__init__(tab_behavior="focus", soft_wrap=True, compact=True)

    def begin(self, text: str, has_lines: bool) -> None:
        """Show the editor with a text; with `has_lines`, Enter inserts a line."""
        self._has_lines = has_lines
        self.load_text(text)
        self.move_cursor(self.document.end)
        self.add_class("-editing")
        self.focus()

    def end(self) -> None:
        """Hide the editor."""
        self.remove_class("-editing")

    async def _on_key(self, event: events.Key) -> None:
        finishes = event.key == "tab" or (event.key == "enter" and not self._has_lines)
        if finishes or event.key == "escape":
            event.stop()
            event.prevent_default()
            self.post_message(self.Entered() if finishes else self.Cancelled())
            return
        await super()._on_key(event)
