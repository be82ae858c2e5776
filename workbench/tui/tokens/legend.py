"""The legend of the token colours."""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from workbench.domain.colour_modes import FIXED, Mode, Scale, legend
from workbench.domain.display import one_line
from workbench.tui.fixed_width import fit
from workbench.tui.theme.token_colours import styles_of


class Legend(Widget):
    """A row with a sample of each level and its meaning, and a note on the newest answer."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "Legend { height: 1; }"

    mode: reactive[Mode] = reactive(Mode.FITTED)
    scale: reactive[Scale] = reactive(FIXED)
    """The probability scale of the answer under the cursor."""
    note = reactive("")
    """A note on the newest answer."""

    def render_line(self, y: int) -> Strip:
        """Paint the row."""
        base = self.rich_style
        styles = styles_of(self.app)
        muted = base + styles.figures
        samples = styles.of(self.mode)
        if samples is styles.shades:
            reached = (0.0, *(edge / self.scale.edges[-1] for edge in self.scale.edges))
            samples = [samples[round(part * (len(samples) - 1))] for part in reached]
        segments = []
        for label, style in zip(legend(self.mode, self.scale), samples, strict=True):
            if label:
                segments += [Segment(f" {label} ", base + style), Segment(" ", base)]
        width = self.size.width
        room = width - sum(segment.cell_length for segment in segments) - 3
        # The samples need all the room; what they are fitted to is in the parameter panel too.
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
