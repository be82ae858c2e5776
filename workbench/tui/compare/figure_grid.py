"""Figures of an answer as labels and values, in as many columns as there is room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from workbench.domain.display import one_line
from workbench.domain.figures import completion_tokens, tokens_per_second
from workbench.domain.run import Run
from workbench.domain.summary import Summary
from workbench.tui.fixed_width import fit

_CELL, _LABEL = 18, 11
_LABELS = ("tokens", "tok/s", "perplexity", "first", "logprob", "distinct-2", "finish", "cost")

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
        return -(-len(self._figures) // _per_row(width))

    def render(self) -> Content:
        """The rows."""
        width = self.content_size.width
        count = _per_row(width)
        rows = []
        for start in range(0, len(self._figures), count):
            cells = [
                Content.assemble((fit(label, _LABEL), "$text-muted"), fit(value, width // count - _LABEL))
                for label, value in self._figures[start : start + count]
            ]
            rows.append(Content("").join(cells))
        return Content("\n").join(rows)


def figures_while_running(run: Run, *, priced: bool) -> Figures:
    """The figures that are cheap enough to be taken many times a second; `priced` adds the cost."""
    later = dict.fromkeys(("perplexity", "logprob", "distinct-2", "finish", "cost"), "…")
    return _in_order(_progress(completion_tokens(run), run) | later, priced)


def figures_of_summary(run: Run, summary: Summary, *, priced: bool) -> Figures:
    """All figures of an answer; `priced` adds the cost."""
    told = {
        "perplexity": _number(summary.perplexity, ".2f"),
        "logprob": _number(summary.mean_logprob, ".3f"),
        "distinct-2": _number(summary.distinct_2, ".2f"),
        "finish": one_line(summary.finish_reason or "—", 20),
        "cost": _number(summary.cost, ".6f"),
    }
    return _in_order(_progress(summary.tokens, run) | told, priced)


def _progress(tokens: int, run: Run) -> dict[str, str]:
    return {
        "tokens": str(tokens),
        "tok/s": _number(tokens_per_second(run), ".0f"),
        "first": _number(run.first_token, ".2f", " s"),
    }


def _in_order(told: Mapping[str, str], priced: bool) -> Figures:
    return [(label, told[label]) for label in _LABELS if priced or label != "cost"]


def _per_row(width: int) -> int:
    return max(width // _CELL, 1)


def _number(value: float | None, form: str, unit: str = "") -> str:
    return "—" if value is None else f"{value:{form}}{unit}"
