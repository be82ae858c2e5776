"""A model's alternatives for one token, as bars that sum to 1."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widget import Widget

from workbench.domain.alternatives import AlternativeRow, remaining_row, rows_of
from workbench.domain.choice import Token
from workbench.tui.fixed_width import fit, percent

_LABEL, _SHARE = 10, 7
_NUMBERED = 9
"""Alternatives that a digit branches with."""
_EIGHTHS = " ▏▎▍▌▋▊▉█"


class DistributionView(Widget):
    """A heading, and a row for each alternative; the chosen one is marked."""

    DEFAULT_CSS = "DistributionView { height: 8; }"

    def __init__(self) -> None:
        super().__init__()
        self._heading = ""
        self._rows: tuple[AlternativeRow, ...] = ()

    def show(self, heading: str, token: Token | None) -> None:
        """Show a token's alternatives under a heading; without a token the heading alone."""
        rows = rows_of(token) if token is not None else ()
        if (heading, rows) != (self._heading, self._rows):
            self._heading, self._rows = heading, rows
            self.refresh()

    def render(self) -> Content:
        """The rows that fit; they sum to all there is, and the chosen one is always among them."""
        width, height = self.content_size
        lines = [Content.styled(fit(self._heading, width), "$text-muted")]
        lines += [_line(row, width) for row in trimmed(self._rows, max(height - 1, 2))]
        return Content("\n").join(lines)


def trimmed(rows: Sequence[AlternativeRow], most: int) -> list[AlternativeRow]:
    """At most so many rows: what is left out, the last alternatives first, joins the remaining mass."""
    kept = list(rows)
    if len(kept) <= most:
        return kept
    remaining = 0.0
    if kept[-1].is_remaining:
        remaining = kept.pop().mass or 0.0
    while len(kept) >= most:
        place = max(place for place, row in enumerate(kept) if not row.is_chosen)
        remaining += kept.pop(place).mass or 0.0
    return [*kept, remaining_row(remaining)]


def _line(row: AlternativeRow, width: int) -> Content:
    label = min(_LABEL, max(width - _SHARE - 3, 1))
    room = max(width - label - _SHARE - 4, 0)
    share = "—".rjust(6) if row.mass is None else percent(row.mass)
    style = "bold" if row.is_chosen else "$text-muted" if row.position is None else ""
    number = str(row.position + 1) if row.position is not None and row.position < _NUMBERED else " "
    return Content.assemble(
        (number, "$text-muted"),
        ("▸" if row.is_chosen else " ", "$text-accent"),
        (fit(row.label, label), style),
        " ",
        (fit(_bar(row.mass or 0.0, room), room), "$accent" if row.is_chosen else "$text-muted"),
        (f" {share}", style),
    )


def _bar(share: float, room: int) -> str:
    eighths = round(share * room * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
