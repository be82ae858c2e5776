"""The structure of a theme file: Textual's theme colours, and the token colours."""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from workbench.storage.toml_files import about

LEVELS = 5
"""Number of levels from a certain to a surprising token."""

_Required: TypeAlias = Annotated[str, Meta(examples=["#1b1e24"])]
_Levels: TypeAlias = Annotated[
    list[str],
    Meta(title=f"{LEVELS} colours, from sure to surprising", min_length=LEVELS, max_length=LEVELS),
]


class TokenColours(Struct, frozen=True, forbid_unknown_fields=True):
    """The colours of tokens."""

    hue: Annotated[str, about("Colour of surprising tokens; empty: the theme's accent.")] = ""
    levels: Annotated[_Levels, about("Backgrounds of the levels, instead of those mixed from the hue.")] = []


class ThemeFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a theme; its name is the file name."""

    primary: _Required
    background: _Required
    foreground: _Required
    secondary: str = ""
    warning: str = ""
    error: str = ""
    success: str = ""
    accent: str = ""
    surface: str = ""
    panel: str = ""
    boost: str = ""
    dark: bool = True
    ansi: Annotated[bool, about("Whether it uses the terminal's own 16 colours.")] = False
    luminosity_spread: Annotated[float, Meta(ge=0, le=1)] = 0.15
    tokens: TokenColours = TokenColours()
    variables: Annotated[dict[str, str], about("Textual's CSS variables: colours and styles.")] = {}
