"""Derive the styles of tokens from a theme and the colour depth of the terminal.

The five levels are mixed from the theme's background towards one hue, in perceptually equal steps. Terminals
with 16 colours or none have fixed styles, as rounding the colours would merge levels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cache, partial
from itertools import combinations, pairwise

from msgspec import Struct
from msgspec.structs import replace
from rich.style import Style
from textual.app import App
from textual.color import Color, Lab, lab_to_rgb, rgb_to_lab
from textual.theme import BUILTIN_THEMES

from workbench.domain.colour_modes import Mode
from workbench.storage.config import DEFAULT_THEME
from workbench.storage.theme_structure import LEVELS
from workbench.tui.theme.theme_files import READABLE, Themes, WorkbenchTheme, adopt, contrast


class TokenStyles(Struct, frozen=True):
    """The styles that token views draw with."""

    levels: tuple[Style, Style, Style, Style, Style]
    """By probability, on the fixed scale: at least .90, .60, .30, .10, and below."""
    shades: tuple[Style, ...]
    """A continuous range from certain to surprising; empty on terminals with too few colours."""
    differences: tuple[Style, Style, Style, Style, Style]
    """From more surprising to the own model (italic) to more surprising to the second one (underlined)."""
    unknown: Style
    """A token without a logprob."""
    prompt: Style
    """The prompt above an answer."""
    figures: Style
    """The title and figures of a run."""
    control: Style
    """A character shown as an escape."""
    cursor: Style
    """The token under the cursor; distinct from every level."""
    found: Style
    """A search match."""
    selected: Style
    """Text selected for copying."""
    dimmed: Style
    """Added to an answer older than a failure, or to a prefix that all columns have in common."""

    def of(self, mode: Mode) -> Sequence[Style]:
        """Return the styles of the levels of a mode."""
        if mode is Mode.DIFFERENCE:
            return self.differences
        return (mode is Mode.CONTINUOUS and self.shades) or self.levels


def _fixed(definition: str = "") -> Style:
    """Return a style with every attribute set, so that the style below it does not show through."""
    plain = Style(bold=False, underline=False, reverse=False, italic=False, dim=False)
    return plain + Style.parse(definition)


SIXTEEN_COLOURS = TokenStyles(
    levels=(
        _fixed(),
        _fixed("underline"),
        _fixed("underline bold"),
        _fixed("black on yellow"),
        _fixed("bold bright_white on red"),
    ),
    shades=(),
    differences=(
        _fixed("italic bold black on cyan"),
        _fixed("italic"),
        _fixed(),
        _fixed("underline"),
        _fixed("underline bold black on yellow"),
    ),
    unknown=_fixed("dim"),
    prompt=_fixed("dim"),
    figures=_fixed("dim"),
    control=_fixed("black on green"),
    cursor=_fixed("reverse bold underline"),
    found=_fixed("underline black on cyan"),
    selected=_fixed("bright_white on blue"),
    dimmed=Style(dim=True),
)
"""Styles in the colours that the terminal defines; only pairs that are readable in most schemes are used."""

NO_COLOURS = replace(
    SIXTEEN_COLOURS,
    # Reverse is reserved for cursor, match and selection.
    levels=(
        _fixed(),
        _fixed("underline"),
        _fixed("bold"),
        _fixed("bold underline"),
        _fixed("bold underline italic"),
    ),
    differences=(
        _fixed("italic bold"),
        _fixed("italic"),
        _fixed(),
        _fixed("underline"),
        _fixed("underline bold"),
    ),
    control=_fixed("reverse dim"),
    found=_fixed("reverse italic underline"),
    selected=_fixed("reverse dim underline"),
)
"""Styles in attributes alone."""


def styles_of(app: App[object]) -> TokenStyles:
    """Return the styles of tokens in an application."""
    styles = getattr(app, "token_styles", None)
    return styles if isinstance(styles, TokenStyles) else NO_COLOURS


SIXTEEN_THEME = "sixteen"
"""The theme for terminals with 16 colours or none."""

_WHITE, _BLACK = Color(255, 255, 255), Color(0, 0, 0)
_MUTED = 0.3
"""How far muted text is blended into the background, if it stays readable."""


_SHADES = 6
"""Steps from one level to the next in the continuous range."""
_NEAR = 16
"""The width of the search in the 256 colours: candidates per level, and partial sequences kept."""
_RED_GREEN = 0.2
"""The weight of the red-green axis in distances, as protanopia and deuteranopia lose most of it."""
_LIGHTNESS_STEP = 12
"""The least difference in CIE lightness between neighbouring levels in the 256 colours."""


class ColourDepth(StrEnum):
    """The number of colours of a terminal."""

    NONE = "none"
    SIXTEEN = "16"
    EIGHT_BIT = "256"
    TRUE = "true"


def detect_depth(environment: Mapping[str, str], color_system: str | None) -> ColourDepth:
    """Return the terminal's colour depth: none if `NO_COLOR` is set, else what Rich's console detected.

    `environment` is the one at start-up, as Textual removes `NO_COLOR` from `os.environ`.
    """
    if "NO_COLOR" in environment:
        return ColourDepth.NONE
    match color_system:
        case "truecolor":
            return ColourDepth.TRUE
        case "256":
            return ColourDepth.EIGHT_BIT
        case "standard" | "windows":
            return ColourDepth.SIXTEEN
    return ColourDepth.NONE


def theme_for(name: str, depth: ColourDepth, themes: Themes) -> WorkbenchTheme:
    """Return the theme of a name, or the 16-colour theme if the terminal has no more colours.

    Textual's own themes have names too; an unknown name gives the default.
    """
    if depth in (ColourDepth.NONE, ColourDepth.SIXTEEN):
        name = SIXTEEN_THEME
    if name not in themes.themes and name in BUILTIN_THEMES:
        return adopt(BUILTIN_THEMES[name])
    return themes.themes.get(name) or themes.themes[DEFAULT_THEME]


def token_styles(theme: WorkbenchTheme, depth: ColourDepth) -> TokenStyles:
    """Return the styles of tokens for a theme and a colour depth."""
    if depth is ColourDepth.NONE:
        return NO_COLOURS
    if depth is ColourDepth.SIXTEEN or theme.is_ansi:
        return SIXTEEN_COLOURS
    levels = level_colours(theme)
    background, foreground = levels[0], theme.foreground
    if depth is ColourDepth.EIGHT_BIT:
        levels = _eight_bit(levels)
    muted = _readable(background, foreground.blend(background, _MUTED), foreground).rich_color
    panel, error, primary, secondary = (
        Color.parse(theme.colours[name]).with_alpha(1) for name in ("panel", "error", "primary", "secondary")
    )
    # The first level shows the widget's background, unless the theme defines the levels.
    first = Style(
        color=_readable(background, foreground).rich_color,
        bgcolor=levels[0].rich_color if theme.levels else None,
    )
    others = [_on(colour, foreground, background) for colour in levels[1:]]
    cursor_ground = _furthest([foreground, _WHITE, _BLACK, background.inverse], levels)
    found_ground = _furthest(_turned(theme.hue), [*levels, cursor_ground])
    selected_ground = _furthest(
        [primary, secondary, *_turned(theme.hue)], [*levels, cursor_ground, found_ground]
    )
    return TokenStyles(
        levels=(first, others[0], others[1], others[2], others[3]),
        shades=_shades(first, levels, foreground, background) if depth is ColourDepth.TRUE else (),
        differences=_differences(theme, depth, first, [cursor_ground, found_ground, selected_ground]),
        unknown=Style(color=muted),
        prompt=Style(color=muted),
        figures=Style(color=muted),
        control=Style(color=_readable(panel, error).rich_color, bgcolor=panel.rich_color),
        cursor=_on(cursor_ground, background, foreground) + Style(bold=True, underline=True),
        found=_on(found_ground, foreground, background) + Style(underline=True),
        selected=_on(selected_ground, foreground, background),
        # The terminal's dim attribute leaves too little contrast on the levels.
        dimmed=Style(color=muted, bgcolor=background.rich_color),
    )


def level_colours(theme: WorkbenchTheme) -> tuple[Color, ...]:
    """Return the backgrounds of the five levels, from certain to surprising."""
    if theme.levels:
        return theme.levels
    mixed = (_mix(theme.background, theme.hue, step / (LEVELS - 1)) for step in range(1, LEVELS - 1))
    return (theme.background, *mixed, theme.hue)


def _differences(
    theme: WorkbenchTheme, depth: ColourDepth, plain: Style, taken: Sequence[Color]
) -> tuple[Style, Style, Style, Style, Style]:
    """Return the styles of differences, with a contrasting hue for what surprises the own model more."""
    ground, _, some, _, much = level_colours(theme)
    candidates = []
    for hue in _turned(theme.hue):
        less = _mix(ground, hue, 0.5)
        pairs = combinations((ground, some, much, less, hue, *taken), 2)
        candidates.append((min(_distance(*pair, _RED_GREEN) for pair in pairs), less, hue))
    _, less, hue = max(candidates)
    if depth is ColourDepth.EIGHT_BIT:
        _, less, hue = _eight_bit((ground, less, hue))
        _, some, much = _eight_bit((ground, some, much))
    italic, underlined = Style(italic=True), Style(underline=True)
    texts = theme.foreground, ground
    return (
        _on(hue, *texts) + italic,
        _on(less, *texts) + italic,
        plain,
        _on(some, *texts) + underlined,
        _on(much, *texts) + underlined,
    )


def _shades(first: Style, levels: Sequence[Color], *texts: Color) -> tuple[Style, ...]:
    """Return a continuous range of styles through the levels."""
    found = [first]
    for low, high in pairwise(levels):
        found += [_on(_mix(low, high, step / _SHADES), *texts) for step in range(1, _SHADES + 1)]
    return tuple(found)


def _readable(ground: Color, *texts: Color) -> Color:
    """Return the first text colour that is readable on a background, else black or white."""
    for text in texts:
        if contrast(text, ground) >= READABLE:
            return text
    return max((_WHITE, _BLACK), key=lambda colour: contrast(colour, ground))


def _on(ground: Color, *texts: Color) -> Style:
    return Style(color=_readable(ground, *texts).rich_color, bgcolor=ground.rich_color, reverse=False)


def _mix(low: Color, high: Color, step: float) -> Color:
    """Return the colour a part of the way between two in CIELAB, which is perceptually uniform."""
    ends = zip(rgb_to_lab(low), rgb_to_lab(high), strict=True)
    mixed = lab_to_rgb(Lab(*(a + (b - a) * step for a, b in ends)))
    red, green, blue = (min(max(part, 0), 255) for part in mixed.rgb)
    return Color(red, green, blue)


def _distance(first: Color, second: Color, red_green: float = 1.0) -> float:
    """Return the distance of two colours in CIELAB, with a weight for the red-green axis."""
    return math.dist(_coordinates(first, red_green), _coordinates(second, red_green))


@cache
def _coordinates(colour: Color, red_green: float) -> tuple[float, float, float]:
    """Return a colour in CIELAB; cached, as the few colours of a theme are compared many times."""
    lab = rgb_to_lab(colour)
    return lab.L, lab.a * red_green, lab.b


def _furthest(candidates: Sequence[Color], others: Sequence[Color]) -> Color:
    """Return the candidate furthest from all other colours, also to readers who confuse red and green."""
    return max(candidates, key=lambda colour: min(_distance(colour, other, _RED_GREEN) for other in others))


def _turned(hue: Color) -> list[Color]:
    """Return colours of opposite hues, dark to light."""
    return [
        Color.from_hsl((hue.hsl.h + turn) % 1, 0.6, lightness)
        for turn in (0.4, 0.5, 0.6)
        for lightness in (0.35, 0.5, 0.65)
    ]


def _eight_bit(levels: Sequence[Color]) -> tuple[Color, ...]:
    """Return the nearest levels in the 256 colours with distinct, monotonic lightness.

    Rounding each level by itself could make neighbours equal or reverse their order.
    """
    cube = (0, 95, 135, 175, 215, 255)
    palette = [Color(red, green, blue) for red in cube for green in cube for blue in cube]
    palette += [Color(grey, grey, grey) for grey in range(8, 239, 10)]
    upward = rgb_to_lab(levels[-1]).L > rgb_to_lab(levels[0]).L
    paths: list[tuple[float, tuple[Color, ...]]] = [(0, ())]
    for level in levels:
        near = sorted(palette, key=partial(_distance, level))[:_NEAR]
        longer = [
            (cost + _distance(colour, level), (*path, colour))
            for cost, path in paths
            for colour in near
            if not path
            or (rgb_to_lab(colour).L - rgb_to_lab(path[-1]).L) * (1 if upward else -1) >= _LIGHTNESS_STEP
        ]
        paths = sorted(longer)[:_NEAR] or [(cost, (*path, level)) for cost, path in paths]
    return paths[0][1]
