"""What is wrong with a theme's file, before the screen stumbles over it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.errors import StyleSyntaxError
from rich.style import Style
from textual.color import Color, ColorParseError

from workbench.domain.display import one_line
from workbench.storage.theme_file import ThemeFile
from workbench.storage.toml_files import Fault

_LEVELS = ("tokens", "levels")
_COLOURS = ThemeFile.__struct_fields__[:11]
_REQUIRED = _COLOURS[:3]


def theme_faults(file: ThemeFile) -> Iterator[Fault]:
    """Everything that is not a colour or style where Textual takes one."""
    for name in _COLOURS:
        if (text := getattr(file, name)) or name in _REQUIRED:
            yield from _colour_faults((name,), text, file.ansi, may_be_clear=name == "boost")
    if file.tokens.hue:
        yield from _colour_faults(("tokens", "hue"), file.tokens.hue, file.ansi)
    levels = [fault for text in file.tokens.levels for fault in _colour_faults(_LEVELS, text, file.ansi)]
    yield from levels
    if not levels and len({Color.parse(text).rgb for text in file.tokens.levels}) < len(file.tokens.levels):
        yield Fault(_LEVELS, "must be different colours")
    for name, text in file.variables.items():
        if name.endswith("-style") or "-style-" in name:
            try:
                Style.parse(text)
            except StyleSyntaxError:
                why = f'is not a style: "{one_line(text, 40)}"'
                yield Fault(("variables", name), why, 'Such as "bold underline".')
        else:
            yield from _colour_faults(("variables", name), text, file.ansi, may_be_clear=True)


def _colour_faults(
    key: tuple[str, ...], text: str, is_ansi: bool, *, may_be_clear: bool = False
) -> Iterator[Fault]:
    shown = one_line(text, 40)
    try:
        colour = Color.parse(text)
    except ColorParseError as error:
        near = error.suggested_color
        hint = f"Did you mean {near}?" if near else 'Colours are written "#rrggbb".'
        yield Fault(key, f'is not a colour: "{shown}"', hint)
        return
    if colour.ansi is not None and not is_ansi:
        yield Fault(key, f'names the terminal\'s own colour "{shown}"', "Such colours need ansi = true.")
    elif colour.a < 1 and not may_be_clear and not is_ansi:
        yield Fault(key, f'must be opaque, not "{shown}"')
