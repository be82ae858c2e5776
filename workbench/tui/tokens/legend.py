"""The row that says what the colours of the tokens mean."""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from workbench.domain.display import one_line
from workbench.domain.token_levels import FIXED, Mode, Scale, legend
from workbench.tui.fixed_width import fit
from workbench.tui.theme.token_colours import NO_COLOURS, TokenStyles, styles_of


class Legend(Widget):
    """One sample of each level with its meaning, and what to know of the newest answer."""

    DEFAULT_CSS = "Legend { height: 1; }"

    token_styles: reactive[TokenStyles] = reactive(NO_COLOURS)
    mode: reactive[Mode] = reactive(Mode.FITTED)
    scale: reactive[Scale] = reactive(FIXED)
    """The scale fitted to the answer under the cursor."""
    note = reactive("")
    """A remark about the newest answer, from outside."""

    def on_mount(self) -> None:
        """Draw as the application's theme says."""
        self.token_styles = styles_of(self.app)

    def render_line(self, y: int) -> Strip:
        """The row."""
        base = self.rich_style
        styles = self.token_styles
        muted = base + styles.figures
        samples = styles.of(self.mode)
        if samples is styles.shades:
            reached = (0.0, *(edge / self.scale.edges[-1] for edge in self.scale.edges))
            samples = [samples[round(part * (len(samples) - 1))] for part in reached]
        segments = []
        for word, style in zip(legend(self.mode, self.scale), samples, strict=True):
            if word:
                segments += [Segment(f" {word} ", base + style), Segment(" ", base)]
        width = self.size.width
        room = width - sum(segment.cell_length for segment in segments) - 3
        # Every sample is to be seen; what they are fitted to stands in the panel as well.
        heading = fit(self._heading, min(cell_len(self._heading), room))
        segments.insert(0, Segment(f" {heading}  ", muted))
        if self.note:
            segments.append(Segment(f" {one_line(self.note)}", muted + Style(italic=True)))
        return Strip(segments).adjust_cell_length(width, base)

    @property
    def _heading(self) -> str:
        match self.mode:
            case Mode.OFF:
                return "not coloured"
            case Mode.PROBABILITY:
                return "probability, fixed scale"
            case Mode.FITTED | Mode.CONTINUOUS:
                scale = f"fitted to {self.scale.fitted_to}" if self.scale.fitted_to else "fixed scale"
                return f"continuous, {scale}" if self.mode is Mode.CONTINUOUS else scale
            case Mode.DIFFERENCE:
                return "more surprised, by nats"
            case Mode.ENTROPY:
                return "entropy, at least"
        return self.mode.value
