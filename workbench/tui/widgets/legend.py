"""The row that says what the colours of the tokens mean."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from workbench.domain.display import one_line
from workbench.domain.reading import Mode, legend
from workbench.tui.token_styles import TokenStyles


class Legend(Widget):
    """One sample of each level with its meaning, and what to know of the newest answer."""

    DEFAULT_CSS = "Legend { height: 1; }"

    mode: reactive[Mode] = reactive(Mode.PROBABILITY)
    note = reactive("")
    """A remark about the newest answer, from outside."""

    def __init__(self, styles: TokenStyles, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._token_styles = styles

    def use_token_styles(self, styles: TokenStyles) -> None:
        """Draw with the styles of another theme."""
        self._token_styles = styles
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """The row."""
        base = self.rich_style
        muted = base + self._token_styles.figures
        segments = [Segment(f" {'not coloured' if self.mode is Mode.OFF else self.mode}  ", muted)]
        for word, style in zip(legend(self.mode), self._token_styles.levels, strict=True):
            if word:
                segments += [Segment(f" {word} ", base + style), Segment(" ", base)]
        if self.note:
            segments.append(Segment(f" {one_line(self.note)}", muted + Style(italic=True)))
        width = self.size.width
        return Strip(segments).adjust_cell_length(width, base)
