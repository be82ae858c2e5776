"""Load and check the built-in themes in `themes/` and the user's."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Struct
from rich.errors import StyleSyntaxError
from rich.style import Style
from textual.color import Color, ColorParseError
from textual.theme import Theme

from workbench.domain.display import one_line
from workbench.domain.errors import StorageError
from workbench.storage.files import toml_paths
from workbench.storage.theme_structure import ThemeFile
from workbench.storage.toml_files import Fault, read_toml, typed

READABLE = 4.5
"""The least contrast ratio between text and its background (WCAG 2.2, 1.4.3)."""


def contrast(first: Color, second: Color) -> float:
    """Return the contrast ratio of two opaque colours, 1 to 21 (WCAG 2.2, "contrast ratio")."""
    lighter, darker = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: Color) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


_LEVELS = ("tokens", "levels")
_COLOURS = ThemeFile.__struct_fields__[:11]
_REQUIRED = _COLOURS[:3]


def theme_faults(file: ThemeFile) -> Iterator[Fault]:
    """Yield a fault for each value that is not a valid colour or style."""
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


_PACKAGED = Path(__file__).parents[2] / "themes"
_CHECKOUT = Path(__file__).parents[3] / "themes"
_ANSI_VARIABLES = {"ansi-background": "ansi_default", "ansi-foreground": "ansi_default"}
"""Variables that Textual's stylesheets require of an ANSI theme."""
_FRAME_FACTOR = 0.35
"""The part of the foreground in the colour of a border without focus."""
_MUTED_FACTORS = (0.3, 0.25, 0.2, 0.15, 0.1)
"""How far muted text may be blended into the background; the first factor with enough contrast is used."""
_MUTED_CONTRAST = READABLE + 1
"""The least contrast of muted text with the background; it is lower on panels."""


class WorkbenchTheme(Struct, frozen=True, dict=True):
    """A Textual theme, and its colours of tokens."""

    theme: Theme
    """The theme to register with Textual."""
    hue: Color
    """The colour of the highest surprise; the levels are mixed from the background towards it."""
    levels: tuple[Color, ...] = ()
    """The backgrounds of the five levels if the theme defines them; else empty."""
    path: Path | None = None
    """Its file; None for a theme of Textual."""

    @property
    def name(self) -> str:
        """The name of the theme."""
        return self.theme.name

    @property
    def is_ansi(self) -> bool:
        """Whether the theme uses the 16 colours that the terminal defines."""
        return self.theme.ansi

    @property
    def background(self) -> Color:
        """The background of tokens."""
        return Color.parse(self.colours["background"])

    @property
    def foreground(self) -> Color:
        """The colour of text."""
        return Color.parse(self.colours["foreground"])

    @cached_property
    def colours(self) -> dict[str, str]:
        """The colours that Textual derives from the theme, by variable name."""
        return self.theme.to_color_system().generate()


class Themes(Struct, frozen=True):
    """The themes that were loaded, by name, and the errors in others."""

    themes: Mapping[str, WorkbenchTheme]
    problems: list[StorageError] = []


def adopt(theme: Theme) -> WorkbenchTheme:
    """Wrap a theme of Textual, with its accent as the hue of tokens."""
    accent = theme.accent or theme.warning or theme.primary
    return WorkbenchTheme(theme, Color.parse(accent))


def shipped_folder() -> Path:
    """Return the folder of the built-in themes: in the installed package, or beside it in a checkout."""
    return _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT


def load_themes(user_folder: Path, names: Collection[str] = ()) -> Themes:
    """Load all themes, or those named. A theme of the user replaces the built-in theme of that name.

    If the user's theme has an error, the built-in theme of that name is used.
    """
    themes: dict[str, WorkbenchTheme] = {}
    paths, problems = _files(user_folder)
    for path in paths:
        if names and path.stem not in names:
            continue
        try:
            themes[path.stem] = read_theme(path)
        except StorageError as problem:
            problems.append(problem)
    return Themes(MappingProxyType(themes), problems)


def theme_stamp(user_folder: Path) -> frozenset[tuple[str, int, int]]:
    """Return a value that changes when a theme file is saved, added or removed. Reads no file."""
    stamps: set[tuple[str, int, int]] = set()
    for path in _files(user_folder)[0]:
        try:
            found = path.stat()
        except OSError:
            continue
        stamps.add((str(path), found.st_mtime_ns, found.st_size))
    return frozenset(stamps)


def _files(user_folder: Path) -> tuple[list[Path], list[StorageError]]:
    files, problems = toml_paths(user_folder)
    return toml_paths(shipped_folder())[0] + files, problems


def read_theme(path: Path) -> WorkbenchTheme:
    """Read a theme from a file, and name it after the file.

    Raises StorageError for the first fault, with its line.
    """
    source = read_toml(path)
    file, faults = typed(source.table, ThemeFile)
    if file is not None:
        faults += theme_faults(file)
    if file is None or faults:
        raise source.error(faults[0])
    own = msgspec.structs.asdict(file)
    tokens = own.pop("tokens")
    own["variables"] = {**(_ANSI_VARIABLES if file.ansi else _derived(file)), **file.variables}
    given: dict[str, Any] = {name: value for name, value in own.items() if value != ""}
    theme = Theme(name=path.stem, **given)
    hue = Color.parse(tokens.hue) if tokens.hue else adopt(theme).hue
    return WorkbenchTheme(theme, hue, tuple(map(Color.parse, tokens.levels)), path)


def _derived(file: ThemeFile) -> dict[str, str]:
    """Return defaults for borders without focus and for muted text, readable on the background.

    Textual's own border is too faint, and its muted text, `auto 60%`, is drawn at full strength within styled
    content.
    """
    background, foreground = map(Color.parse, (file.background, file.foreground))
    mixed = (foreground.blend(background, factor) for factor in _MUTED_FACTORS)
    muted = next((colour for colour in mixed if contrast(colour, background) >= _MUTED_CONTRAST), foreground)
    return {"border-blurred": background.blend(foreground, _FRAME_FACTOR).hex, "text-muted": muted.hex}
