"""From a theme and the terminal's colours to the styles of tokens.

Surprise has more ink: five levels of one hue, mixed from the theme's background in equal steps of what the
eye sees. Terminals with 16 colours or none have tables of their own, as down-sampling would merge levels.
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

from workbench.domain.token_levels import Mode
from workbench.storage.theme_file import LEVELS
from workbench.tui.theme.theme_loading import READABLE, Themes, WorkbenchTheme, adopt, contrast


class TokenStyles(Struct, frozen=True):
    """Everything a token view needs to know of colour."""

    levels: tuple[Style, Style, Style, Style, Style]
    """By probability: at least .90, .60, .30, .10, and below."""
    shades: tuple[Style, ...]
    """From certain to surprising without steps; empty where there are too few colours."""
    differences: tuple[Style, Style, Style, Style, Style]
    """From what surprises the own model more (italic) to what surprises the other one more (underlined)."""
    unknown: Style
    """A token without a logprob."""
    prompt: Style
    """The prompt above an answer."""
    figures: Style
    """Titles and figures of a run."""
    control: Style
    """A character shown as an escape."""
    cursor: Style
    """The token under the cursor; no level looks like it."""
    found: Style
    """A place that the search found."""
    selected: Style
    """Text selected for copying."""
    dimmed: Style
    """Laid over an answer that a newer failure pushed back, or a prefix that all columns share."""

    def of(self, mode: Mode) -> Sequence[Style]:
        """The styles of what a mode shows."""
        if mode is Mode.DIFFERENCE:
            return self.differences
        return (mode is Mode.CONTINUOUS and self.shades) or self.levels


def _fixed(definition: str = "") -> Style:
    """A style that says everything, so that what lies under it cannot change what it looks like."""
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
"""In the terminal's own colours, of which only the usual pairs can be relied on to be readable."""

NO_COLOURS = replace(
    SIXTEEN_COLOURS,
    # Reverse is left to what lies over a token: cursor, found and selected.
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
"""In attributes alone."""


def styles_of(app: App[object]) -> TokenStyles:
    """The styles of tokens that hold in an application."""
    styles = getattr(app, "token_styles", None)
    return styles if isinstance(styles, TokenStyles) else NO_COLOURS


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
    muted = _readable(background, foreground.blend(background, _MUTED), foreground).rich_color
    panel, error, primary, secondary = (
        Color.parse(theme.colours[name]).with_alpha(1) for name in ("panel", "error", "primary", "secondary")
    )
    # The widget's own background shows below the first level, unless the theme set one.
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
        # The terminal's own way to dim a text leaves too little contrast on the levels.
        dimmed=Style(color=muted, bgcolor=background.rich_color),
    )


def level_colours(theme: WorkbenchTheme) -> tuple[Color, ...]:
    """What the five levels lie on, from sure to surprising; the first is the theme's background."""
    if theme.levels:
        return theme.levels
    mixed = (_mix(theme.background, theme.hue, step / (LEVELS - 1)) for step in range(1, LEVELS - 1))
    return (theme.background, *mixed, theme.hue)


def _differences(
    theme: WorkbenchTheme, depth: ColourDepth, plain: Style, taken: Sequence[Color]
) -> tuple[Style, Style, Style, Style, Style]:
    """The colours of surprise for the other model, a hue across from theirs for the own one."""
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
    """The levels, with steps between each two of them."""
    found = [first]
    for low, high in pairwise(levels):
        found += [_on(_mix(low, high, step / _SHADES), *texts) for step in range(1, _SHADES + 1)]
    return tuple(found)


def _readable(ground: Color, *texts: Color) -> Color:
    """The first colour that can be read on the ground; black or white always can."""
    for text in texts:
        if contrast(text, ground) >= READABLE:
            return text
    return max((_WHITE, _BLACK), key=lambda colour: contrast(colour, ground))


def _on(ground: Color, *texts: Color) -> Style:
    return Style(color=_readable(ground, *texts).rich_color, bgcolor=ground.rich_color, reverse=False)


def _mix(low: Color, high: Color, step: float) -> Color:
    """A colour between two, in equal steps of what the eye sees."""
    ends = zip(rgb_to_lab(low), rgb_to_lab(high), strict=True)
    mixed = lab_to_rgb(Lab(*(a + (b - a) * step for a, b in ends)))
    red, green, blue = (min(max(part, 0), 255) for part in mixed.rgb)
    return Color(red, green, blue)


def _distance(first: Color, second: Color, red_green: float = 1.0) -> float:
    """How different two colours look, with a weight for the red-green axis."""
    return math.dist(_coordinates(first, red_green), _coordinates(second, red_green))


@cache
def _coordinates(colour: Color, red_green: float) -> tuple[float, float, float]:
    """Where a colour lies in CIELAB; a theme's few colours are compared with each other many times."""
    lab = rgb_to_lab(colour)
    return lab.L, lab.a * red_green, lab.b


def _furthest(candidates: Sequence[Color], others: Sequence[Color]) -> Color:
    """The candidate that looks least like any other colour, also where red and green look alike."""
    return max(candidates, key=lambda colour: min(_distance(colour, other, _RED_GREEN) for other in others))


def _turned(hue: Color) -> list[Color]:
    """Colours across the wheel from a hue, darker and lighter."""
    return [
        Color.from_hsl((hue.hsl.h + turn) % 1, 0.6, lightness)
        for turn in (0.4, 0.5, 0.6)
        for lightness in (0.35, 0.5, 0.65)
    ]


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
