"""Rows with figures over a passage about the row under the cursor."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import ClassVar

from rich.cells import cell_len
from textual import events, getters, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
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
from workbench.tui.popups.picker import RowList
from workbench.workspace.run_state import finish_words

_MOST_SURPRISAL = 99.0
"""Nats of mean surprisal above which a perplexity has no room."""
_WIDE = 90
"""Cells from which on a row has room for every ending in full."""


def figure_heads(width: int) -> str:
    """The heads of `figure_columns`."""
    return f"{'tok':>6} {'ppl':>7} {'mean lp':>8} {fit('ended', _ending_cells(width))}"


def _ending_cells(width: int) -> int:
    return 14 if width >= _WIDE else 7


def ending_of(run: Run, choice: Choice, width: int) -> str:
    """How a choice ended: in words where a row of a width in cells has room, else the endpoint's own."""
    if (reason := choice.finish_reason) is None:
        return "…" if run.is_running else "—"
    return finish_words(run, reason) if width >= _WIDE else one_line(reason, 12)


def figure_columns(choice: Choice | None, ending: str, width: int) -> str:
    """Tokens, perplexity, mean logprob and how it ended, in columns for a row of a width in cells."""
    tokens = ppl = mean = ""
    if choice is not None:
        tokens, ppl, mean = str(len(choice) - choice.echoed), "—", "—"
        if (value := mean_logprob(completion_logprobs(choice))) is not None:
            mean, ppl = f"{value:.3f}", f"{exp(min(-value, _MOST_SURPRISAL)):.3g}"
    return f"{tokens:>6} {ppl:>7} {mean:>8} {fit(ending, _ending_cells(width))}"


def on_one_line(text: str) -> str:
    """Text with line ends and tabs as glyphs, safe to show."""
    return visible(text).replace("\n", "⏎").replace("\t", "→")


def fit_short(text: str, most: int) -> str:
    """Text cut to a width in cells, and no wider than it is."""
    return fit(text, min(cell_len(text), most))


def end_of(text: str, width: int) -> str:
    """The end of a text on one line, in at most so many cells."""
    line = on_one_line(text[-4 * width - 4 :])
    cut = cell_len(line) > width or len(text) > 4 * width + 4
    while cell_len(line) > max(width - cut, 0):
        line = line[1:]
    return f"…{line}" if cut and width else line


_MARK, _NO_MARK = "▸", " "
"""At the beginning of the row under the cursor, which colours alone may not show, and of all others."""
_EDGES = 5
"""Cells of a row that frame, mark and scrollbar take."""


class RowListing(Vertical):
    """Rows to choose from, laid out for the width; its screen fills them when it is asked to."""

    DEFAULT_CSS = """
    RowListing #heads { height: 1; color: $text-muted; padding: 0 3 0 1; text-align: right; }
    RowListing RowList, RowListing RowList:focus {
        border: round $border-blurred; height: 3fr;
    }
    RowListing RowList > .option-list--option { padding: 0; }
    RowListing VerticalScroll {
        border: round $border-blurred; height: 2fr; padding: 0 1; background: $background;
        scrollbar-size-vertical: 1;
    }
    RowListing #passage { width: 1fr; height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings_at(Where.LISTING)

    class RowsFitted(Message):
        """The rows have another width, and are to be put anew."""

    class RowHighlighted(Message):
        """The cursor is on another row, or that row has another text: its passage is to be shown."""

    options = getters.query_one(OptionList)

    def __init__(self, heading: str) -> None:
        super().__init__()
        self._heading = heading
        self._drawn = 0
        self._marked = -1
        self._rows: list[Content] = []

    def compose(self) -> ComposeResult:
        yield HeadingRow(self._heading)
        yield Static(id="heads")
        yield RowList(markup=False)
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
        """Cells that a row may fill."""
        return max(self.size.width - _EDGES, 1)

    def put_rows(self, rows: Sequence[Content], highlighted: int, about: str) -> None:
        """Show these rows with the cursor on one of them; `about` says what they are."""
        self.query_one(HeadingRow).show(about)
        self.query_one("#heads", Static).update(Content(figure_heads(self.row_width)))
        self._rows = [Content.assemble(_NO_MARK, row) for row in rows]
        self.options.clear_options()
        self.options.add_options(map(Option, self._rows))
        if rows:
            self.options.highlighted = highlighted
        else:
            self.show_passage(Content(""))

    @property
    def highlighted(self) -> int | None:
        """The row under the cursor; None where there is none."""
        return self.options.highlighted

    @on(OptionList.OptionHighlighted)
    def _look(self) -> None:
        # The rows may be others by now than those that the message was sent about.
        if (index := self.highlighted) is None:
            return
        self.post_message(self.RowHighlighted())
        self._show_plain(index)
        if index != self._marked:
            self._marked = index
            self.query_one(VerticalScroll).scroll_home(animate=False)

    def show_passage(self, passage: Content) -> None:
        """Show what there is to say of the row under the cursor."""
        self.query_one("#passage", Static).update(passage)

    def put_row(self, index: int, row: Content) -> None:
        """Show one row in another state."""
        self._rows[index] = Content.assemble(_NO_MARK, row)
        if index == self.options.highlighted:
            self._show_plain(index)
            self.post_message(self.RowHighlighted())
        else:
            self.options.replace_option_prompt_at_index(index, self._rows[index])

    def _show_plain(self, index: int) -> None:
        """Let the row under the cursor have the cursor's colours alone: others may not show on them."""
        if 0 <= self._marked < len(self._rows):
            self.options.replace_option_prompt_at_index(self._marked, self._rows[self._marked])
        plain = self._rows[index].plain.removeprefix(_NO_MARK)
        self.options.replace_option_prompt_at_index(index, Content(f"{_MARK}{plain}"))

    def action_scroll_passage(self, pages: int) -> None:
        """Scroll the passage by pages."""
        passage = self.query_one(VerticalScroll)
        passage.scroll_relative(y=pages * max(passage.size.height - 1, 1), animate=False)
