"""How different two colours look, to usual eyes and to those with a colour-vision deficiency."""

from __future__ import annotations

from math import atan2, cos, degrees, exp, hypot, radians, sin, sqrt
from typing import TypeAlias

from textual.color import Color, Lab, rgb_to_lab

Matrix: TypeAlias = tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]]

VISIONS: dict[str, Matrix] = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
"""Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB."""


def seen(colour: Color, vision: str) -> Color:
    """A colour as it looks under a vision."""
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized
    ]
    changed = [
        sum(weight * part for weight, part in zip(row, linear, strict=True)) for row in VISIONS[vision]
    ]
    red, green, blue = (
        round(255 * (12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055))
        for part in (min(max(part, 0), 1) for part in changed)
    )
    return Color(red, green, blue)


def difference(first: Color, second: Color) -> float:
    """CIEDE2000 (Sharma, Wu and Dalal 2005), all weights 1."""
    return ciede2000(rgb_to_lab(first), rgb_to_lab(second))


def ciede2000(first: Lab, second: Lab) -> float:
    """CIEDE2000 of two Lab colours."""
    mean_chroma = (hypot(first.a, first.b) + hypot(second.a, second.b)) / 2
    stretch = 1 + 0.5 * (1 - sqrt(mean_chroma**7 / (mean_chroma**7 + 25**7)))
    a1, a2 = first.a * stretch, second.a * stretch
    c1, c2 = hypot(a1, first.b), hypot(a2, second.b)
    h1, h2 = degrees(atan2(first.b, a1)) % 360, degrees(atan2(second.b, a2)) % 360
    turn = h2 - h1
    turn -= 360 if turn > 180 else -360 if turn < -180 else 0
    if c1 * c2 == 0:
        turn, mean_hue = 0.0, h1 + h2
    elif abs(h1 - h2) <= 180:
        mean_hue = (h1 + h2) / 2
    else:
        mean_hue = (h1 + h2 + (360 if h1 + h2 < 360 else -360)) / 2
    light, chroma = second.L - first.L, c2 - c1
    hue = 2 * sqrt(c1 * c2) * sin(radians(turn / 2))
    mean_light, mean_c = (first.L + second.L) / 2, (c1 + c2) / 2
    weight = (
        1
        - 0.17 * cos(radians(mean_hue - 30))
        + 0.24 * cos(radians(2 * mean_hue))
        + 0.32 * cos(radians(3 * mean_hue + 6))
        - 0.20 * cos(radians(4 * mean_hue - 63))
    )
    for_light = 1 + 0.015 * (mean_light - 50) ** 2 / sqrt(20 + (mean_light - 50) ** 2)
    for_chroma, for_hue = 1 + 0.045 * mean_c, 1 + 0.015 * mean_c * weight
    rotation = -sin(radians(60 * exp(-(((mean_hue - 275) / 25) ** 2)))) * 2
    rotation *= sqrt(mean_c**7 / (mean_c**7 + 25**7))
    return sqrt(
        (light / for_light) ** 2
        + (chroma / for_chroma) ** 2
        + (hue / for_hue) ** 2
        + rotation * (chroma / for_chroma) * (hue / for_hue)
    )
