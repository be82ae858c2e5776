"""Loading themes: the built-in ones in `themes/`, and a person's, checked before the screen sees them."""

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
from workbench.storage.theme_file import ThemeFile
from workbench.storage.toml_files import Fault, read_toml, typed

READABLE = 4.5
"""The least contrast between text and what it lies on (WCAG 2.2, 1.4.3)."""


def contrast(first: Color, second: Color) -> float:
    """The contrast ratio of two opaque colours, 1 to 21 (WCAG 2.2, "contrast ratio")."""
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


_PACKAGED = Path(__file__).parents[2] / "themes"
_CHECKOUT = Path(__file__).parents[3] / "themes"
_ANSI_VARIABLES = {"ansi-background": "ansi_default", "ansi-foreground": "ansi_default"}
"""What Textual's own stylesheets ask of such a theme, and fail without."""
_FRAME_FACTOR = 0.35
"""How much of the foreground is in a frame without the focus."""
_MUTED_FACTORS = (0.3, 0.25, 0.2, 0.15, 0.1)
"""How far muted text is mixed towards the background, the most that can be read."""
_MUTED_CONTRAST = READABLE + 1
"""With the background, as panels lie a little nearer to the text."""


class WorkbenchTheme(Struct, frozen=True, dict=True):
    """A theme of the screen, and how it colours tokens."""

    theme: Theme
    """As Textual takes it; registered by the application."""
    hue: Color
    """What surprise is mixed towards, from the background."""
    levels: tuple[Color, ...] = ()
    """The backgrounds of the five levels where the theme sets its own; else empty."""
    path: Path | None = None
    """Its file; None for one of Textual's own."""

    @property
    def name(self) -> str:
        """The name it is chosen by."""
        return self.theme.name

    @property
    def is_ansi(self) -> bool:
        """Whether it uses the terminal's own 16 colours."""
        return self.theme.ansi

    @property
    def background(self) -> Color:
        """What tokens lie on."""
        return Color.parse(self.colours["background"])

    @property
    def foreground(self) -> Color:
        """What text is written in."""
        return Color.parse(self.colours["foreground"])

    @cached_property
    def colours(self) -> dict[str, str]:
        """The colours that Textual derives from the theme, by the names of its variables."""
        return self.theme.to_color_system().generate()


class Themes(Struct, frozen=True):
    """What loaded, by name, and what did not."""

    themes: Mapping[str, WorkbenchTheme]
    problems: list[StorageError] = []


def adopt(theme: Theme) -> WorkbenchTheme:
    """One of Textual's own themes, with tokens coloured by its accent."""
    accent = theme.accent or theme.warning or theme.primary
    return WorkbenchTheme(theme, Color.parse(accent))


def shipped_folder() -> Path:
    """The built-in themes: inside the package where it was installed, else beside it in a checkout."""
    return _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT


def load_themes(user_folder: Path, names: Collection[str] = ()) -> Themes:
    """Every theme, or those named; a person's stands in the place of the program's of that name.

    A broken file of a person's leaves the program's theme of that name in its place.
    """
    themes: dict[str, WorkbenchTheme] = {}
    problems: list[StorageError] = []
    for path in _files(user_folder):
        if names and path.stem not in names:
            continue
        try:
            themes[path.stem] = read_theme(path)
        except StorageError as problem:
            problems.append(problem)
    return Themes(MappingProxyType(themes), problems)


def theme_stamp(user_folder: Path) -> frozenset[tuple[str, int, int]]:
    """Changes whenever a theme's file is saved, added or removed; a handful of `stat` calls."""
    stamps: set[tuple[str, int, int]] = set()
    for path in _files(user_folder):
        try:
            found = path.stat()
        except OSError:
            continue
        stamps.add((str(path), found.st_mtime_ns, found.st_size))
    return frozenset(stamps)


def _files(user_folder: Path) -> Iterator[Path]:
    for folder in (shipped_folder(), user_folder):
        yield from sorted(folder.glob("*.toml"))


def read_theme(path: Path) -> WorkbenchTheme:
    """The theme that a file describes, named after it.

    Raises StorageError, with the line, for the first thing that is wrong.
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
    """Colours that Textual's own derivation makes too weak or loses, for a theme that names none.

    A frame that can be seen on the background; and muted text, which Textual keeps as a share of whatever
    lies below, and draws as bright as it can within styled content.
    """
    background, foreground = map(Color.parse, (file.background, file.foreground))
    mixed = (foreground.blend(background, factor) for factor in _MUTED_FACTORS)
    muted = next((colour for colour in mixed if contrast(colour, background) >= _MUTED_CONTRAST), foreground)
    return {"border-blurred": background.blend(foreground, _FRAME_FACTOR).hex, "text-muted": muted.hex}
