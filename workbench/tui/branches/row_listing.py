"""A list of rows with figures, above a passage on the row under the cursor."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual import events, getters, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from workbench.domain.choice import Choice
from workbench.domain.display import one_line, visible
from workbench.domain.figures import completion_logprobs, mean_logprob
from workbench.domain.run import Run
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.fixed_width import fit
from workbench.tui.popups.heading_row import HeadingRow
from workbench.tui.popups.popup import RowList
from workbench.workspace.run_state import finish_text

_MOST_SURPRISAL = 99.0
"""Nats of mean surprisal at which the perplexity is capped to fit its column."""
_WIDE = 90
"""Width in cells from which a row shows finish reasons in full."""


def figure_heads(width: int) -> str:
    """Return the heads of `figure_columns`, for a row of a width in cells."""
    return f"{'tok':>6} {'ppl':>7} {'mean lp':>8} {fit('ended', _ending_cells(width))}"


def _ending_cells(width: int) -> int:
    return 14 if width >= _WIDE else 7


def ending_of(run: Run, choice: Choice, width: int) -> str:
    """Return how a choice ended: in words if the row is wide enough, else the endpoint's finish reason."""
    if (reason := choice.finish_reason) is None:
        return "…" if run.is_running else "—"
    return finish_text(run, reason) if width >= _WIDE else one_line(reason, 12)


def figure_columns(choice: Choice | None, ending: str, width: int) -> str:
    """Return tokens, perplexity, mean logprob and ending in columns, for a row of a width in cells."""
    tokens = ppl = mean = ""
    if choice is not None:
        tokens, ppl, mean = str(len(choice) - choice.echoed), "—", "—"
        if (value := mean_logprob(completion_logprobs(choice))) is not None:
            mean, ppl = f"{value:.3f}", f"{exp(min(-value, _MOST_SURPRISAL)):.3g}"
    return f"{tokens:>6} {ppl:>7} {mean:>8} {fit(ending, _ending_cells(width))}"


def on_one_line(text: str) -> str:
    """Escape a text, and replace line ends and tabs by glyphs."""
    return visible(text).replace("\n", "⏎").replace("\t", "→")


def fit_short(text: str, most: int) -> str:
    """Truncate a text to at most `most` cells."""
    return fit(text, min(cell_len(text), most))


def end_of(text: str, width: int) -> str:
    """Return the end of a text on one line, in at most `width` cells."""
    line = on_one_line(text[-4 * width - 4 :])
    cut = cell_len(line) > width or len(text) > 4 * width + 4
    while cell_len(line) > max(width - cut, 0):
        line = line[1:]
    return f"…{line}" if cut and width else line


_EDGES = 5
"""Cells of a row taken by frame, padding and scrollbar."""


class MarkedRowList(RowList):
    """A row list that marks the row under the cursor, which is visible without colours."""

    def render_line(self, y: int) -> Strip:
        """Draw a row, with the mark in its padding."""
        strip = super().render_line(y)
        if not self.is_highlighted(y):
            return strip
        padding, *others = strip
        return Strip([Segment(f"▸{padding.text[1:]}", padding.style), *others], strip.cell_length)


class RowListing(Vertical):
    """Lists rows of the screen, which creates them for the width when `RowsFitted` is posted."""

    DEFAULT_CSS = """
    RowListing #heads { height: 1; color: $text-muted; padding: 0 3 0 1; text-align: right; }
    RowListing RowList, RowListing RowList:focus {
        border: round $border-blurred; height: 3fr;
    }
    RowListing RowList > .option-list--option { padding: 0 0 0 1; }
    RowListing VerticalScroll {
        border: round $border-blurred; height: 2fr; padding: 0 1; background: $background;
        scrollbar-size-vertical: 1;
    }
    RowListing #passage { width: 1fr; height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Where.LISTING)

    class RowsFitted(Message):
        """The width changed, so that the rows must be created again."""

    class RowHighlighted(Message):
        """The cursor moved to another row, or that row changed, so that its passage must be shown."""

    options = getters.query_one(OptionList)

    def __init__(self, heading: str) -> None:
        super().__init__()
        self._heading = heading
        self._drawn = 0
        """The width that the rows were created for."""
        self._read = -1
        """The index of the row whose passage was shown last."""

    def compose(self) -> ComposeResult:
        yield HeadingRow(self._heading)
        yield Static(id="heads")
        yield MarkedRowList(markup=False)
        with VerticalScroll(can_focus=False):
            yield Static(id="passage")

    @on(events.Resize)
    def _fit(self, event: events.Resize) -> None:
        if event.size.width != self._drawn:
            self._drawn = event.size.width
            self.post_message(self.RowsFitted())
            self.options.focus()

    @property
    def row_width(self) -> int:
        """Cells available to a row."""
        return max(self.size.width - _EDGES, 1)

    def put_rows(self, rows: Sequence[Content], highlighted: int, about: str) -> None:
        """Replace the rows, with the cursor on one of them; `about` is a summary for the heading."""
        self.query_one(HeadingRow).show(about)
        self.query_one("#heads", Static).update(Content(figure_heads(self.row_width)))
        self.options.clear_options()
        self.options.add_options(map(Option, rows))
        if rows:
            self.options.highlighted = highlighted
        else:
            self.show_passage(Content(""))

    @property
    def highlighted(self) -> int | None:
        """The index of the row under the cursor; None if there is none."""
        return self.options.highlighted

    @on(OptionList.OptionHighlighted)
    def _look(self) -> None:
        # The rows may have been replaced since the message was posted.
        if (index := self.highlighted) is None:
            return
        self.post_message(self.RowHighlighted())
        if index != self._read:
            self._read = index
            self.query_one(VerticalScroll).scroll_home(animate=False)

    def show_passage(self, passage: Content) -> None:
        """Show the passage on the row under the cursor."""
        self.query_one("#passage", Static).update(passage)

    def put_row(self, index: int, row: Content) -> None:
        """Replace one row."""
        self.options.replace_option_prompt_at_index(index, row)
        if index == self.highlighted:
            self.post_message(self.RowHighlighted())

    def action_scroll_passage(self, pages: int) -> None:
        """Scroll the passage some pages down, or up if negative."""
        passage = self.query_one(VerticalScroll)
        passage.scroll_relative(y=pages * max(passage.size.height - 1, 1), animate=False)
