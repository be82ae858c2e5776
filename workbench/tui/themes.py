"""Themes as files: the program's own in `themes/`, and a person's, checked before the screen sees them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from rich.errors import StyleSyntaxError
from rich.style import Style
from textual.color import Color, ColorParseError
from textual.theme import Theme

from workbench.domain.display import one_line
from workbench.domain.errors import StorageError, ThemeError
from workbench.storage.tables import Table, read_table
from workbench.tui.contrast import READABLE, contrast

LEVELS = 5

_PACKAGED = Path(__file__).parent.parent / "themes"
_CHECKOUT = Path(__file__).parent.parent.parent / "themes"
_ANSI_VARIABLES = {"ansi-background": "ansi_default", "ansi-foreground": "ansi_default"}
"""What Textual's own stylesheets ask of such a theme, and fail without."""
_OPTIONAL_COLOURS = ("secondary", "warning", "error", "success", "accent", "surface", "panel", "boost")
_MAY_BE_CLEAR = frozenset({"boost"})
_FRAME_SHARE = 0.35
"""How much of the foreground is in a frame without the focus."""
_MUTED_SHARES = (0.3, 0.25, 0.2, 0.15, 0.1)
"""How far muted text is mixed towards the background, the most that can be read."""
_MUTED_CONTRAST = READABLE + 1
"""With the background, as panels lie a little nearer to the text."""


@dataclass(frozen=True, slots=True)
class WorkbenchTheme:
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
        return self._colour("background")

    @property
    def foreground(self) -> Color:
        """What text is written in."""
        return self._colour("foreground")

    def _colour(self, name: str) -> Color:
        return Color.parse(self.theme.to_color_system().generate()[name])


@dataclass(frozen=True, slots=True)
class Themes:
    """What loaded, by name, and what did not."""

    themes: Mapping[str, WorkbenchTheme]
    problems: list[ThemeError] = field(default_factory=list)


def adopt(theme: Theme) -> WorkbenchTheme:
    """One of Textual's own themes, with tokens coloured by its accent."""
    accent = theme.accent or theme.warning or theme.primary
    return WorkbenchTheme(theme, Color.parse(accent))


def shipped_folder() -> Path:
    """The program's own themes: inside the package where it was installed, else beside it in a checkout."""
    return _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT


def load_themes(user_folder: Path) -> Themes:
    """Every theme there is; a person's stands in the place of the program's of that name.

    A broken file of a person's leaves the program's theme of that name in its place.
    """
    themes: dict[str, WorkbenchTheme] = {}
    problems: list[ThemeError] = []
    for path in _files(user_folder):
        try:
            themes[path.stem] = read_theme(path)
        except ThemeError as problem:
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

    Raises ThemeError, with the line, for the first thing that is wrong.
    """
    try:
        table = read_table(path)
    except StorageError as problem:
        raise _as_theme_error(problem) from None
    is_ansi = table.switch("ansi", False)
    colours = _Colours(table, is_ansi)
    required = {name: colours.take(name, required=True) for name in ("primary", "background", "foreground")}
    optional = {name: colours.take(name) for name in _OPTIONAL_COLOURS}
    dark = table.switch("dark", True)
    spread = table.number("luminosity_spread", 0.15, 0)
    hue, levels = _tokens(table, is_ansi)
    variables = _variables(table, is_ansi)
    table.close()
    if table.problems:
        raise _as_theme_error(table.problems[0])
    theme = Theme(
        name=path.stem,
        primary=required["primary"] or "",
        background=required["background"],
        foreground=required["foreground"],
        dark=dark,
        luminosity_spread=spread,
        variables={**(_ANSI_VARIABLES if is_ansi else _derived(required)), **variables},
        ansi=is_ansi,
        secondary=optional["secondary"],
        warning=optional["warning"],
        error=optional["error"],
        success=optional["success"],
        accent=optional["accent"],
        surface=optional["surface"],
        panel=optional["panel"],
        boost=optional["boost"],
    )
    return WorkbenchTheme(theme, hue or adopt(theme).hue, levels, path)


@dataclass(frozen=True, slots=True)
class _Colours:
    """Takes colours from a table, each checked as Textual would read it later."""

    table: Table
    is_ansi: bool

    def take(self, name: str, *, required: bool = False) -> str | None:
        """A colour as written; None where there is none."""
        text = self.table.text(name)
        if not text:
            if required:
                self.table.complain(name, "is missing", f'Such as {name} = "#1b1e24".')
            return None
        self.check(name, text, clear=name in _MAY_BE_CLEAR)
        return text

    def check(self, name: str, text: str, *, clear: bool = False) -> Color | None:
        """The colour that a text names; None, with a problem collected, where it names none."""
        shown = one_line(text, 40)
        try:
            colour = Color.parse(text)
        except ColorParseError as error:
            near = error.suggested_color
            hint = f"Did you mean {near}?" if near else 'Colours are written "#rrggbb".'
            self.table.complain(name, f'has no colour in "{shown}"', hint)
            return None
        if colour.ansi is not None and not self.is_ansi:
            self.table.complain(
                name, f'names the terminal\'s own colour "{shown}"', "Such colours need ansi = true."
            )
            return None
        if colour.a < 1 and not clear and not self.is_ansi:
            self.table.complain(name, f'must be opaque, not "{shown}"')
            return None
        return colour


def _tokens(table: Table, is_ansi: bool) -> tuple[Color | None, tuple[Color, ...]]:
    inner = table.table("tokens")
    if inner is None:
        return None, ()
    colours = _Colours(inner, is_ansi)
    hue = colours.take("hue")
    texts = inner.texts("levels")
    levels = [colour for text in texts if (colour := colours.check("levels", text)) is not None]
    if "levels" in inner and len(texts) != LEVELS:
        inner.complain("levels", f"must be {LEVELS} colours, from sure to surprising, not {len(texts)}")
    elif len({colour.rgb for colour in levels}) < len(levels):
        inner.complain("levels", "must be different colours")
    inner.close()
    return (Color.parse(hue) if hue and not table.problems else None), tuple(levels)


def _derived(colours: Mapping[str, str | None]) -> dict[str, str]:
    """Colours that Textual's own derivation makes too weak or loses, for a theme that names none.

    A frame that can be seen on the background; and muted text, which Textual keeps as a share of whatever
    lies below, and draws as bright as it can within styled content.
    """
    background, foreground = (Color.parse(colours[name] or "") for name in ("background", "foreground"))
    mixed = (foreground.blend(background, share) for share in _MUTED_SHARES)
    muted = next((one for one in mixed if contrast(one, background) >= _MUTED_CONTRAST), foreground)
    return {"border-blurred": background.blend(foreground, _FRAME_SHARE).hex, "text-muted": muted.hex}


def _variables(table: Table, is_ansi: bool) -> dict[str, str]:
    inner = table.table("variables")
    if inner is None:
        return {}
    colours = _Colours(inner, is_ansi)
    variables = {name: inner.text(name) for name in inner.names}
    for name, text in variables.items():
        if name.endswith("-style") or "-style-" in name:
            try:
                Style.parse(text)
            except StyleSyntaxError:
                inner.complain(name, f'is no style: "{one_line(text, 40)}"', 'Such as "bold underline".')
        else:
            colours.check(name, text, clear=True)
    return variables


def _as_theme_error(problem: StorageError) -> ThemeError:
    return ThemeError(problem.title, problem.message, problem.hint, path=problem.path, line=problem.line)
