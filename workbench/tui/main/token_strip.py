"""The inspector in one row, for narrow terminals."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from workbench.domain.alternatives import AlternativeRow, rows_of
from workbench.domain.choice import Token
from workbench.domain.display import token_text
from workbench.tui.fixed_width import fit
from workbench.tui.tokens.no_token import how_to_select

_LONGEST = 14


class TokenStrip(Static):
    """The token under the cursor and as many of its alternatives as there is room for."""

    DEFAULT_CSS = """
    TokenStrip { height: 1; padding: 0 1; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes, markup=False)
        self._token: Token | None = None

    def on_mount(self) -> None:
        """Say how a token is selected, from where the focus is."""
        self.watch(self.screen, "focused", self._draw)

    def show(self, token: Token | None) -> None:
        """Show a token, or none."""
        self._token = token
        self._draw()

    def on_resize(self) -> None:
        """More or fewer alternatives fit."""
        self._draw()

    def _draw(self) -> None:
        token = self._token
        if token is None:
            self.update(Content.styled(how_to_select(self.screen.focused), "$text-muted"), layout=False)
            return
        rows = rows_of(token)
        chosen = next((row for row in rows if row.is_chosen), None)
        head = _short(token_text(token.text, token.raw))
        rank = "" if token.rank is None else f"  rank {token.rank}"
        figure = f" {_percent(chosen)}{rank}" if chosen is not None else ""
        parts = [(head, "bold"), (figure, ""), (" │", "$text-muted")]
        room = self.content_size.width - cell_len(f"{head}{figure} │")
        for row in rows:
            if row.is_chosen:
                continue
            number = "" if row.position is None else f"{row.position + 1} "
            words = f"{number}{_short(row.label)} {_percent(row)}{'!' if row.note else ''}"
            if (room := room - cell_len(words) - 2) < 0:
                break
            parts.append((f" {words} ", "$text-muted" if row.position is None else ""))
        self.update(Content.assemble(*parts), layout=False)


def _short(text: str) -> str:
    return fit(text, min(cell_len(text), _LONGEST))


def _percent(row: AlternativeRow) -> str:
    if row.mass is None:
        return "—"
    return "<1%" if 0 < row.mass < 0.005 else f"{row.mass * 100:.0f}%"
