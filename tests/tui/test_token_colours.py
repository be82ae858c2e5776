"""The styles of tokens: readable, told apart by every eye, and never by colour alone."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from msgspec.structs import fields
from rich.style import Style
from textual.color import Color, Lab
from textual.theme import BUILTIN_THEMES

from tests.tui.colour_distance import VISIONS, ciede2000, difference, seen
from workbench.tui.theme.theme_files import READABLE, WorkbenchTheme, adopt, contrast, load_themes
from workbench.tui.theme.token_colours import (
    ColourDepth,
    TokenStyles,
    detect_depth,
    level_colours,
    theme_for,
    token_styles,
)

THEMES = load_themes(Path("/nowhere"))
COLOURED = [theme for theme in THEMES.themes.values() if not theme.is_ansi]
DEPTHS = [ColourDepth.TRUE, ColourDepth.EIGHT_BIT]
every_theme = pytest.mark.parametrize("theme", COLOURED, ids=lambda theme: theme.name)
every_vision = pytest.mark.parametrize("vision", VISIONS)

# The palette of xterm, as the one most terminals' palettes are near to.
XTERM = {
    "black": (0, 0, 0),
    "red": (205, 0, 0),
    "yellow": (205, 205, 0),
    "blue": (0, 0, 238),
    "green": (0, 205, 0),
    "cyan": (0, 205, 205),
    "bright_white": (255, 255, 255),
}


def ground(style: Style, theme: WorkbenchTheme) -> Color:
    return Color.from_rich_color(style.bgcolor) if style.bgcolor else theme.background


def text(style: Style, theme: WorkbenchTheme) -> Color:
    return Color.from_rich_color(style.color) if style.color else theme.foreground


def grounds(styles: TokenStyles, theme: WorkbenchTheme) -> list[Color]:
    return [ground(style, theme) for style in styles.levels]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (Lab(50, 2.6772, -79.7751), Lab(50, 0, -82.7485), 2.0425),
        (Lab(50, -1.1848, -84.8006), Lab(50, 0, -82.7485), 1.0000),
        (Lab(50, 2.5, 0), Lab(73, 25, -18), 27.1492),
        (Lab(2.0776, 0.0795, -1.1350), Lab(0.9033, -0.0636, -0.5514), 0.9082),
        (Lab(50, 2.4900, -0.0010), Lab(50, -2.4900, 0.0011), 7.2195),
    ],
)
def test_the_distance_is_as_published(first: Lab, second: Lab, expected: float) -> None:
    assert ciede2000(first, second) == pytest.approx(expected, abs=0.0001)


@every_theme
@pytest.mark.parametrize("depth", DEPTHS)
def test_every_text_can_be_read_on_what_it_lies_on(theme: WorkbenchTheme, depth: ColourDepth) -> None:
    styles = token_styles(theme, depth)
    for style in (
        *styles.levels,
        *styles.differences,
        styles.unknown,
        styles.prompt,
        styles.figures,
        styles.control,
        styles.cursor,
        styles.found,
        styles.selected,
    ):
        assert contrast(text(style, theme), ground(style, theme)) >= READABLE


@every_theme
@every_vision
def test_all_pairs_of_levels_look_different_to_every_eye(theme: WorkbenchTheme, vision: str) -> None:
    levels = grounds(token_styles(theme, ColourDepth.TRUE), theme)
    for first, second in combinations(levels, 2):
        assert difference(seen(first, vision), seen(second, vision)) >= 10


@every_theme
@every_vision
def test_levels_stay_apart_in_256_colours(theme: WorkbenchTheme, vision: str) -> None:
    levels = grounds(token_styles(theme, ColourDepth.EIGHT_BIT), theme)
    for first, second in combinations(levels, 2):
        assert difference(seen(first, vision), seen(second, vision)) >= 8


@every_theme
@every_vision
@pytest.mark.parametrize(("depth", "least"), [(ColourDepth.TRUE, 10), (ColourDepth.EIGHT_BIT, 8)])
def test_all_pairs_of_differences_look_different_to_every_eye(
    theme: WorkbenchTheme, vision: str, depth: ColourDepth, least: float
) -> None:
    found = [ground(style, theme) for style in token_styles(theme, depth).differences]
    for first, second in combinations(found, 2):
        assert difference(seen(first, vision), seen(second, vision)) >= least


@every_theme
@pytest.mark.parametrize("depth", list(ColourDepth))
def test_italics_and_underlines_tell_which_model_was_more_surprised(
    theme: WorkbenchTheme, depth: ColourDepth
) -> None:
    styles = token_styles(theme, depth).differences
    assert [bool(style.italic) for style in styles] == [True, True, False, False, False]
    assert [bool(style.underline) for style in styles] == [False, False, False, True, True]


@every_theme
@pytest.mark.parametrize("depth", DEPTHS)
def test_the_more_surprising_the_more_ink(theme: WorkbenchTheme, depth: ColourDepth) -> None:
    levels = grounds(token_styles(theme, depth), theme)
    ink = [contrast(level, theme.background) for level in levels]
    assert ink == sorted(ink)
    assert len(set(ink)) == 5


@every_theme
@every_vision
def test_cursor_found_and_selected_look_like_no_level_and_not_like_each_other(
    theme: WorkbenchTheme, vision: str
) -> None:
    styles = token_styles(theme, ColourDepth.TRUE)
    laid = [ground(style, theme) for style in (styles.cursor, styles.found, styles.selected)]
    levels = grounds(styles, theme)
    pairs = [*combinations(laid, 2), *((colour, level) for colour in laid for level in levels)]
    assert min(difference(seen(first, vision), seen(second, vision)) for first, second in pairs) >= 10
    assert styles.cursor.underline


@every_theme
def test_the_screens_own_colours_can_be_read_on_background_and_panel(theme: WorkbenchTheme) -> None:
    colours = theme.theme.to_color_system().generate()
    names = ("foreground", "primary", "secondary", "accent", "warning", "error", "success", "text-muted")
    for name in names:
        for below in ("background", "surface", "panel"):
            assert contrast(Color.parse(colours[name]), Color.parse(colours[below])) >= READABLE, name


@every_theme
def test_muted_text_is_a_colour_of_its_own_between_text_and_background(theme: WorkbenchTheme) -> None:
    colours = theme.theme.to_color_system().generate()
    muted, text, below = (Color.parse(colours[name]) for name in ("text-muted", "foreground", "background"))
    assert contrast(muted, below) < contrast(text, below)


@every_theme
def test_a_frame_without_the_focus_can_be_seen(theme: WorkbenchTheme) -> None:
    colours = theme.theme.to_color_system().generate()
    assert contrast(Color.parse(colours["border-blurred"]), Color.parse(colours["background"])) >= 1.7


@every_theme
def test_what_is_sure_lies_on_the_themes_own_background(theme: WorkbenchTheme) -> None:
    assert token_styles(theme, ColourDepth.TRUE).levels[0].bgcolor is None
    assert level_colours(theme)[0] == theme.background


def test_levels_a_theme_sets_are_used_as_they_are() -> None:
    own = tuple(map(Color.parse, ["#000000", "#003300", "#006600", "#009900", "#00cc00"]))
    dark = THEMES.themes["dark"]
    styles = token_styles(WorkbenchTheme(dark.theme, dark.hue, own), ColourDepth.TRUE)
    assert tuple(grounds(styles, dark)) == own
    assert all(contrast(text(style, dark), ground(style, dark)) >= READABLE for style in styles.levels)


def look(style: Style) -> tuple[object, ...]:
    """What a style looks like, whatever lies under it."""
    return (
        style.color,
        style.bgcolor,
        style.bold,
        style.underline,
        style.reverse,
        style.italic,
        style.dim,
    )


@pytest.mark.parametrize("depth", [ColourDepth.SIXTEEN, ColourDepth.NONE])
def test_with_few_colours_levels_cursor_found_and_selected_are_all_different(depth: ColourDepth) -> None:
    styles = token_styles(THEMES.themes["dark"], depth)
    looks = [
        look(style)
        for style in (*styles.levels, styles.cursor, styles.found, styles.selected, styles.control)
    ]
    assert len(set(looks)) == len(looks)
    differences = [look(style) for style in styles.differences]
    assert len({*differences, *looks[5:]}) == 5 + len(looks[5:])
    # What lies on a token covers its attributes whole.
    assert all(
        None not in (style.bold, style.underline, style.reverse) for style in (styles.cursor, styles.found)
    )


def test_without_colours_only_what_lies_on_a_token_is_reversed() -> None:
    styles = token_styles(THEMES.themes["dark"], ColourDepth.NONE)
    assert not any(style.reverse for style in styles.levels)
    assert all(style.reverse for style in (styles.cursor, styles.found, styles.selected))


def test_without_colours_there_are_none() -> None:
    styles = token_styles(THEMES.themes["light"], ColourDepth.NONE)
    for field in fields(TokenStyles):
        value = getattr(styles, field.name)
        for style in value if isinstance(value, tuple) else (value,):
            assert style.color is None
            assert style.bgcolor is None


def test_sixteen_colours_are_the_terminals_own_in_pairs_that_can_be_read() -> None:
    styles = token_styles(THEMES.themes["sixteen"], ColourDepth.TRUE)
    assert styles == token_styles(THEMES.themes["dark"], ColourDepth.SIXTEEN)
    for field in fields(TokenStyles):
        value = getattr(styles, field.name)
        for style in value if isinstance(value, tuple) else (value,):
            # A colour alone would stand on a background that nobody here knows.
            assert (style.color is None) == (style.bgcolor is None)
            if style.color is not None and style.bgcolor is not None:
                pair = [Color(*XTERM[colour.name]) for colour in (style.color, style.bgcolor)]
                assert contrast(*pair) >= READABLE


@every_vision
def test_the_coloured_ones_of_sixteen_look_different_to_every_eye(vision: str) -> None:
    used = [Color(*XTERM[name]) for name in ("yellow", "red", "cyan", "blue")]
    for first, second in combinations(used, 2):
        assert difference(seen(first, vision), seen(second, vision)) >= 10


@pytest.mark.parametrize("depth", list(ColourDepth))
def test_textuals_own_themes_get_readable_levels_too(depth: ColourDepth) -> None:
    for theme in BUILTIN_THEMES.values():
        styles = token_styles(adopt(theme), depth)
        assert len({look(style) for style in styles.levels}) == 5


@pytest.mark.parametrize(
    ("environment", "system", "depth"),
    [
        ({}, "truecolor", ColourDepth.TRUE),
        ({}, "256", ColourDepth.EIGHT_BIT),
        ({}, "standard", ColourDepth.SIXTEEN),
        ({}, "windows", ColourDepth.SIXTEEN),
        ({}, None, ColourDepth.NONE),
        ({"NO_COLOR": "1"}, "truecolor", ColourDepth.NONE),
    ],
)
def test_the_terminals_colours_are_found(
    environment: dict[str, str], system: str | None, depth: ColourDepth
) -> None:
    assert detect_depth(environment, system) is depth


def test_terminals_with_few_colours_get_the_theme_made_for_them() -> None:
    for depth in (ColourDepth.SIXTEEN, ColourDepth.NONE):
        assert theme_for("light", depth, THEMES).is_ansi
    assert theme_for("light", ColourDepth.EIGHT_BIT, THEMES).name == "light"
    assert theme_for("nord", ColourDepth.TRUE, THEMES).name == "nord"
    assert theme_for("gone", ColourDepth.TRUE, THEMES).name == "dark"
