"""From a theme and the terminal's colours to the styles of tokens.

Surprise has more ink: five levels of one hue, mixed from the theme's background in equal steps of what the
eye sees. Terminals with 16 colours or none have tables of their own, as down-sampling would merge levels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import partial
from itertools import combinations, pairwise

from rich.color import Color as RichColor
from rich.style import Style
from textual.color import Color, Lab, lab_to_rgb, rgb_to_lab
from textual.theme import BUILTIN_THEMES

from workbench.storage.theme_file import LEVELS
from workbench.tui.theme.contrast import READABLE, contrast
from workbench.tui.theme.theme_validation import Themes, WorkbenchTheme, adopt
from workbench.tui.theme.token_styles import NO_COLOURS, SIXTEEN_COLOURS, TokenStyles

SIXTEEN_THEME = "sixteen"
"""The theme for terminals with 16 colours or none; it uses the terminal's own."""

_WHITE, _BLACK = Color(255, 255, 255), Color(0, 0, 0)
_MUTED = 0.3
"""How far muted text is mixed towards the background, where it stays readable."""


_SHADES = 6
"""Shades from one level to the next, where they are shown without steps."""
_NEAR = 16
"""How many of the 256 colours are looked at for a level, and how many beginnings are followed."""
_RED_GREEN = 0.2
"""What the red-green axis counts beside the others, as protanopia and deuteranopia lose most of it."""
_LIGHTNESS_STEP = 12
"""The least difference in CIE lightness between two levels in the 256 colours."""


class ColourDepth(StrEnum):
    """How many colours a terminal has."""

    NONE = "none"
    SIXTEEN = "16"
    EIGHT_BIT = "256"
    TRUE = "true"


def detect_depth(environment: Mapping[str, str], color_system: str | None) -> ColourDepth:
    """The terminal's colours: none where `NO_COLOR` is set, else what Rich's console found.

    Takes the environment of the start, as Textual takes `NO_COLOR` out of its own copy.
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


def theme_for(name: str, depth: ColourDepth, themes: Themes, default: str) -> WorkbenchTheme:
    """The theme to show where `name` was chosen: the 16-colour one where the terminal has no more.

    Textual's own themes can be chosen too; an unknown name gives the default.
    """
    if depth in (ColourDepth.NONE, ColourDepth.SIXTEEN):
        name = SIXTEEN_THEME
    if name not in themes.themes and name in BUILTIN_THEMES:
        return adopt(BUILTIN_THEMES[name])
    return themes.themes.get(name) or themes.themes[default]


def token_styles(theme: WorkbenchTheme, depth: ColourDepth) -> TokenStyles:
    """How tokens are drawn under a theme on a terminal."""
    if depth is ColourDepth.NONE:
        return NO_COLOURS
    if depth is ColourDepth.SIXTEEN or theme.is_ansi:
        return SIXTEEN_COLOURS
    levels = level_colours(theme)
    background, foreground = levels[0], theme.foreground
    if depth is ColourDepth.EIGHT_BIT:
        levels = _eight_bit(levels)
    muted = _muted(foreground, background)
    panel, error = Color.parse(theme.colours["panel"]), Color.parse(theme.colours["error"])
    # The widget's own background shows below the first level, unless the theme set one.
    plain = Style(color=_rich(_readable(foreground, background)))
    first = plain + Style(bgcolor=_rich(levels[0])) if theme.levels else plain
    others = [_on(colour, foreground, background) for colour in levels[1:]]
    cursor_ground = _furthest([foreground, _WHITE, _BLACK, background.inverse], levels)
    found_ground = _furthest(_turned(theme.hue), [*levels, cursor_ground])
    own = [Color.parse(theme.colours[name]).with_alpha(1) for name in ("primary", "secondary")]
    selected_ground = _furthest([*own, *_turned(theme.hue)], [*levels, cursor_ground, found_ground])
    return TokenStyles(
        levels=(first, others[0], others[1], others[2], others[3]),
        shades=_shades(first, levels, foreground, background) if depth is ColourDepth.TRUE else (),
        differences=_differences(theme, depth, first, [cursor_ground, found_ground, selected_ground]),
        unknown=Style(color=_rich(muted)),
        prompt=Style(color=_rich(muted)),
        figures=Style(color=_rich(muted)),
        control=Style(color=_rich(_readable(error, panel.with_alpha(1))), bgcolor=_rich(panel.with_alpha(1))),
        cursor=_on(cursor_ground, background, foreground) + Style(bold=True, underline=True),
        found=_on(found_ground, foreground, background) + Style(underline=True),
        selected=_on(selected_ground, foreground, background),
        # The terminal's own way to dim a text leaves too little contrast on the levels.
        dimmed=Style(color=_rich(muted), bgcolor=_rich(background)),
    )


def level_colours(theme: WorkbenchTheme) -> tuple[Color, ...]:
    """What the five levels lie on, from sure to surprising; the first is the theme's background."""
    if theme.levels:
        return theme.levels
    low, high = rgb_to_lab(theme.background), rgb_to_lab(theme.hue)
    steps = [place / (LEVELS - 1) for place in range(LEVELS)]
    mixed = [_clamped(lab_to_rgb(_mix(low, high, step))) for step in steps]
    return (theme.background, *mixed[1:-1], theme.hue)


def _differences(
    theme: WorkbenchTheme, depth: ColourDepth, plain: Style, taken: Sequence[Color]
) -> tuple[Style, Style, Style, Style, Style]:
    """The colours of surprise for the other model, a hue across from theirs for the own one."""
    ground, _, some, _, much = level_colours(theme)
    candidates = []
    for hue in _turned(theme.hue):
        less = _clamped(lab_to_rgb(_mix(rgb_to_lab(ground), rgb_to_lab(hue), 0.5)))
        pairs = combinations((ground, some, much, less, hue, *taken), 2)
        candidates.append((min(_distance(*pair) for pair in pairs), less, hue))
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
    """The levels, with steps between each two of them."""
    found = [first]
    for low, high in pairwise(levels):
        ends = rgb_to_lab(low), rgb_to_lab(high)
        grounds = [_clamped(lab_to_rgb(_mix(*ends, step / _SHADES))) for step in range(1, _SHADES + 1)]
        found += [_on(ground, *texts) for ground in grounds]
    return tuple(found)


def _readable(wanted: Color, ground: Color, *others: Color) -> Color:
    """The first colour that can be read on the ground; black or white always can."""
    for one in (wanted, *others):
        if contrast(one, ground) >= READABLE:
            return one
    return max((_WHITE, _BLACK), key=lambda one: contrast(one, ground))


def _on(ground: Color, *texts: Color) -> Style:
    text = _readable(texts[0], ground, *texts[1:])
    return Style(color=_rich(text), bgcolor=_rich(ground), reverse=False)


def _muted(foreground: Color, background: Color) -> Color:
    return _readable(foreground.blend(background, _MUTED), background, foreground)


def _mix(low: Lab, high: Lab, step: float) -> Lab:
    return Lab(*(a + (b - a) * step for a, b in zip(low, high, strict=True)))


def _clamped(colour: Color) -> Color:
    red, green, blue = (min(max(part, 0), 255) for part in colour.rgb)
    return Color(red, green, blue)


def _difference(one: Color, other: Color) -> float:
    return math.dist(rgb_to_lab(one), rgb_to_lab(other))


def _furthest(candidates: Sequence[Color], others: Sequence[Color]) -> Color:
    """The candidate that looks least like any other colour."""
    return max(candidates, key=lambda one: min(_distance(one, other) for other in others))


def _distance(one: Color, other: Color) -> float:
    """How different two colours look also where red and green look alike."""
    return math.dist(_without_red_green(one), _without_red_green(other))


def _without_red_green(colour: Color) -> tuple[float, float, float]:
    lightness, red_green, yellow_blue = rgb_to_lab(colour)
    return lightness, red_green * _RED_GREEN, yellow_blue


def _turned(hue: Color) -> list[Color]:
    """Colours across the wheel from a hue, darker and lighter."""
    return [
        Color.from_hsl((hue.hsl.h + turn) % 1, 0.6, lightness)
        for turn in (0.4, 0.5, 0.6)
        for lightness in (0.35, 0.5, 0.65)
    ]


def _rich(colour: Color) -> RichColor:
    return colour.rich_color


def _eight_bit(levels: Sequence[Color]) -> tuple[Color, ...]:
    """The levels in the 256 colours: as near as may be with steps of lightness that every eye can tell.

    Rounding each level for itself would let neighbours meet, or change places.
    """
    cube = (0, 95, 135, 175, 215, 255)
    palette = [Color(red, green, blue) for red in cube for green in cube for blue in cube]
    palette += [Color(grey, grey, grey) for grey in range(8, 239, 10)]
    upward = rgb_to_lab(levels[-1]).L > rgb_to_lab(levels[0]).L
    paths: list[tuple[float, tuple[Color, ...]]] = [(0, ())]
    for level in levels:
        near = sorted(palette, key=partial(_difference, level))[:_NEAR]
        longer = [
            (cost + _difference(one, level), (*path, one))
            for cost, path in paths
            for one in near
            if not path
            or (rgb_to_lab(one).L - rgb_to_lab(path[-1]).L) * (1 if upward else -1) >= _LIGHTNESS_STEP
        ]
        paths = sorted(longer)[:_NEAR] or [(cost, (*path, level)) for cost, path in paths]
    return paths[0][1]
