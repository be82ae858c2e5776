"""Figures of an answer as labels and values, in as many columns as there is room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from workbench.domain.display import figure
from workbench.domain.figures import completion_tokens, tokens_per_second
from workbench.domain.run import Run
from workbench.domain.summary import Summary
from workbench.tui.fixed_width import fit
from workbench.workspace.run_state import finish_words

_WIDTHS = {
    "tokens": 5,
    "tok/s": 4,
    "perplexity": 6,
    "TTFT": 6,
    "mean logprob": 6,
    "distinct-2": 4,
    "cost": 8,
    "ended": 0,
}
"""The figures in order, with the cells that a usual value takes; the last one fills its row."""

Figures = Sequence[tuple[str, str]]
"""Labels with their values."""


class FigureGrid(Widget):
    """Shows always the same figures, so that those of columns beside each other line up."""

    DEFAULT_CSS = "FigureGrid { height: auto; }"

    def __init__(self, figures: Figures) -> None:
        super().__init__()
        self._figures = list(figures)

    def show(self, figures: Figures) -> None:
        """Show other values of the same figures."""
        if list(figures) != self._figures:
            self._figures = list(figures)
            self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Rows for all figures."""
        return -(-len(self._figures) // len(self._columns(width)))

    def _columns(self, width: int) -> list[tuple[int, int]]:
        """The cells of each column's labels and of all of it: as many columns as there is room for."""
        for count in range(len(self._figures), 1, -1):
            columns = []
            for place in range(count):
                labels = [label for label, _ in self._figures[place::count]]
                widest = max(map(len, labels))
                columns.append((widest, max(widest, *(len(one) + 1 + _WIDTHS[one] for one in labels))))
            if (spare := width + 1 - sum(cells + 1 for _, cells in columns)) >= 0:
                return [(label, cells + 1 + spare // count) for label, cells in columns]
        return [(max(len(label) for label, _ in self._figures), width)]

    def render(self) -> Content:
        """The rows."""
        width = self.content_size.width
        columns = self._columns(width)
        rows = []
        for start in range(0, len(self._figures), len(columns)):
            row = self._figures[start : start + len(columns)]
            room = width
            cells = []
            for (label, value), (widest, wanted) in zip(row, columns, strict=False):
                is_last = (label, value) == row[-1]
                cell = room if is_last else wanted
                # A long value takes the blanks between it and its label.
                head = max(len(label) + 1, min(widest + 1, cell - cell_len(value)))
                tail = fit(value, cell - head)
                cells.append(Content.assemble((fit(label, head), "$text-muted"), tail))
                room -= cell
            rows.append(Content("").join(cells))
        return Content("\n").join(rows)


def figures_while_running(run: Run, *, priced: bool) -> Figures:
    """The figures that are cheap enough to be taken many times a second; `priced` adds the cost."""
    later = dict.fromkeys(("perplexity", "mean logprob", "distinct-2", "ended", "cost"), "…")
    return _in_order(_progress(completion_tokens(run), run) | later, priced)


def figures_of_summary(run: Run, summary: Summary, *, priced: bool) -> Figures:
    """All figures of an answer; `priced` adds the cost."""
    figures = {
        "perplexity": figure(summary.perplexity, ".2f"),
        "mean logprob": figure(summary.mean_logprob, ".3f"),
        "distinct-2": figure(summary.distinct_2, ".2f"),
        "ended": finish_words(run, summary.finish_reason) if summary.finish_reason else "—",
        "cost": figure(summary.cost, ".6f"),
    }
    return _in_order(_progress(summary.tokens, run) | figures, priced)


def _progress(tokens: int, run: Run) -> dict[str, str]:
    return {
        "tokens": str(tokens),
        "tok/s": figure(tokens_per_second(run), ".0f"),
        "TTFT": figure(run.first_token, ".2f", " s"),
    }


def _in_order(figures: Mapping[str, str], priced: bool) -> Figures:
    return [(label, figures[label]) for label in _WIDTHS if priced or label != "cost"]
