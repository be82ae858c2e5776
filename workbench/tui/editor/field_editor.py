"""The small editor in which a parameter's value is typed, and values as its text."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from textual import events
from textual.message import Message

from workbench.domain.display import is_control, visible
from workbench.domain.errors import BadValueError
from workbench.domain.json_values import JsonObject, JsonValue, parse_json
from workbench.domain.parameter_values import format_value, parse_value, value_from_json
from workbench.domain.parameters import Field, Kind, ParameterValue
from workbench.tui.editor.inputs import ExactTextArea

Tokenizer: TypeAlias = Callable[[str], Awaitable[tuple[int, ...]]]
"""The token ids of a text, as an endpoint's tokenizer makes them; raises WorkbenchError."""


def has_lines(field: Field) -> bool:
    """Whether a field is edited with one entry a line."""
    return field.kind in (Kind.TEXTS, Kind.BIASES)


def field_to_text(field: Field, value: ParameterValue | None) -> str:
    """A value as it is edited; the inverse of `field_from_text`."""
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
    """The value that an edited text means; None where it is empty, which unsets the field.

    Raises BadValueError where it is not a value of the field, whatever its range.
    """
    if not text.strip() and (field.kind is not Kind.TEXTS or not text.strip("\n")):
        return None
    match field.kind:
        case Kind.TEXTS:
            lines = (line for line in text.split("\n") if line)
            return value_from_json(field, [_unquoted(line) for line in lines])
        case _:
            return parse_value(field, text)


def bias_texts(text: str) -> tuple[str, ...]:
    """The token texts, written `"text"=BIAS`, that lines of biases still hold in place of ids."""
    return tuple(found[0] for line in text.split("\n") if (found := _bias_by_text(line)) is not None)


def with_ids(text: str, ids: Mapping[str, tuple[int, ...]]) -> str:
    """Lines of biases with ids in the place of token texts.

    Raises BadValueError for a text that is not one token.
    """
    lines = []
    for line in text.split("\n"):
        if (found := _bias_by_text(line)) is None:
            lines.append(line)
            continue
        word, bias = found
        known = ids.get(word, ())
        if len(known) != 1:
            raise BadValueError(
                f"logit_bias: {json.dumps(word)} is {len(known)} tokens, not one",
                hint=f"Its ids: {', '.join(map(str, known)) or 'none'}.",
                field="logit_bias",
            )
        lines.append(f"{known[0]}={bias}")
    return "\n".join(lines)


def extra_to_text(extra: JsonObject) -> str:
    """The `extra` table as `KEY=JSON` lines."""
    return "\n".join(f"{_key(name)}={json.dumps(value, ensure_ascii=True)}" for name, value in extra.items())


def extra_from_text(text: str) -> dict[str, JsonValue]:
    """The table that `KEY=JSON` lines mean. Raises BadValueError naming the line at fault."""
    extra: dict[str, JsonValue] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        name, rest = _split_key(line)
        if name is None:
            raise _bad_extra(number, "is not KEY=JSON")
        if name in extra:
            raise _bad_extra(number, f"repeats {name}")
        try:
            extra[name] = parse_json(rest, is_strict=True)
        except ValueError:
            raise _bad_extra(number, f"does not have JSON after {visible(name)}=") from None
    return extra


def _quoted(text: str) -> str:
    # Quotes stay as they are typed; everything that a line cannot hold is escaped.
    escaped = json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"')
    return "".join(
        f"\\u{ord(char):04x}" if char not in "\n\t" and is_control(char) and char < "\U00010000" else char
        for char in escaped
    )


def _unquoted(line: str) -> str:
    try:
        value = json.loads('"' + line.replace('"', '\\"') + '"', strict=False)
    except ValueError:
        return line
    return value if isinstance(value, str) else line


def _bias_by_text(line: str) -> tuple[str, str] | None:
    stripped = line.strip()
    if not stripped.startswith('"'):
        return None
    try:
        word, end = json.JSONDecoder(strict=False).raw_decode(stripped)
    except ValueError:
        return None
    equals, bias = stripped[end:].lstrip()[:1], stripped[end:].lstrip()[1:].strip()
    return (word, bias) if isinstance(word, str) and equals == "=" else None


def _key(name: str) -> str:
    return json.dumps(name) if not name or name != name.strip() or set(name) & set('="\n\\') else name


def _split_key(line: str) -> tuple[str | None, str]:
    stripped = line.strip()
    if stripped.startswith('"'):
        try:
            name, end = json.JSONDecoder().raw_decode(stripped)
        except ValueError:
            return None, ""
        rest = stripped[end:].lstrip()
        return (name, rest[1:]) if isinstance(name, str) and rest.startswith("=") else (None, "")
    name, equals, rest = stripped.partition("=")
    return (name.strip(), rest) if equals and name.strip() else (None, "")


def _bad_extra(line: int, why: str) -> BadValueError:
    return BadValueError(f"extra: line {line} {why}", hint="Write a line a key: KEY=JSON.", field="extra")


class FieldEditor(ExactTextArea):
    """One line or several; Enter or Tab finishes, Escape drops what was typed."""

    DEFAULT_CSS = """
    FieldEditor { height: auto; max-height: 6; border: none; padding: 0 1; display: none;
        background: $boost; }
    FieldEditor.-editing { display: block; }
    """

    class Entered(Message):
        """What was typed is to be taken."""

    class Cancelled(Message):
        """What was typed is to be forgotten."""

    def __init__(self) -> None:
        self._has_lines = False
        super().__init__(tab_behavior="focus", soft_wrap=True, compact=True)

    def begin(self, text: str, has_lines: bool) -> None:
        """Edit a text; with `has_lines` Enter begins another line."""
        self._has_lines = has_lines
        self.load_text(text)
        self.move_cursor(self.document.end)
        self.add_class("-editing")
        self.focus()

    def end(self) -> None:
        """Nothing is edited any more."""
        self.remove_class("-editing")

    async def _on_key(self, event: events.Key) -> None:
        finishes = event.key == "tab" or (event.key == "enter" and not self._has_lines)
        if finishes or event.key == "escape":
            event.stop()
            event.prevent_default()
            self.post_message(self.Entered() if finishes else self.Cancelled())
            return
        await super()._on_key(event)
