"""A column of a comparison: its answer, its figures, and the distribution at a token."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual import getters
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from workbench.domain.alternatives import AlternativeRow, remaining_row, rows_of
from workbench.domain.choice import Choice, Token
from workbench.domain.colour_modes import Scale
from workbench.domain.display import figure, one_line, visible
from workbench.domain.divergence import Divergence
from workbench.domain.figures import completion_tokens, tokens_per_second
from workbench.domain.measures import Summary, summarise
from workbench.domain.prompt import prompt_to_editor
from workbench.domain.run import Run
from workbench.runner.compare_plan import Column
from workbench.tui.fixed_width import fit, percent
from workbench.tui.tokens.token_view import TokenView
from workbench.tui.tokens.transcript import Section
from workbench.workspace.run_state import RunState, finish_text

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
"""The figures in order, with the cells of a typical value; the last one takes the rest of its row."""

Figures = Sequence[tuple[str, str]]
"""Labels and values of figures."""


class FigureGrid(Widget):
    """Shows figures in as many columns as fit, at the same places for every run."""

    DEFAULT_CSS = "FigureGrid { height: auto; }"

    def __init__(self, figures: Figures) -> None:
        super().__init__()
        self._figures = list(figures)

    def show(self, figures: Figures) -> None:
        """Show new values of the same figures."""
        if list(figures) != self._figures:
            self._figures = list(figures)
            self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of rows for all figures."""
        return -(-len(self._figures) // len(self._columns(width)))

    def _columns(self, width: int) -> list[tuple[int, int]]:
        """Return the width of the labels and the total width of each column, for as many columns as fit."""
        for count in range(len(self._figures), 1, -1):
            columns = []
            for column in range(count):
                labels = [label for label, _ in self._figures[column::count]]
                widest = max(map(len, labels))
                columns.append((widest, max(widest, *(len(label) + 1 + _WIDTHS[label] for label in labels))))
            if (spare := width + 1 - sum(cells + 1 for _, cells in columns)) >= 0:
                return [(label, cells + 1 + spare // count) for label, cells in columns]
        return [(max(len(label) for label, _ in self._figures), width)]

    def render(self) -> Content:
        """Draw the figures, row by row."""
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
                # A long value may use the padding of its label.
                head = max(len(label) + 1, min(widest + 1, cell - cell_len(value)))
                tail = fit(value, cell - head)
                cells.append(Content.assemble((fit(label, head), "$text-muted"), tail))
                room -= cell
            rows.append(Content("").join(cells))
        return Content("\n").join(rows)


def figures_of_run(run: Run, summary: Summary | None, *, priced: bool) -> Figures:
    """Return the figures of a run; without a summary, only those that are cheap to compute have values.

    `priced` adds the cost.
    """
    values = {
        "tokens": str(completion_tokens(run) if summary is None else summary.tokens),
        "tok/s": figure(tokens_per_second(run), ".0f"),
        "TTFT": figure(run.first_token, ".2f", " s"),
    }
    if summary is not None:
        values |= {
            "perplexity": figure(summary.perplexity, ".2f"),
            "mean logprob": figure(summary.mean_logprob, ".3f"),
            "distinct-2": figure(summary.distinct_2, ".2f"),
            "ended": finish_text(run, summary.finish_reason) if summary.finish_reason else "—",
            "cost": figure(summary.cost, ".6f"),
        }
    return [(label, values.get(label, "…")) for label in _WIDTHS if priced or label != "cost"]


_LABEL, _PERCENTAGE = 10, 7
"""Cells of a row's label and percentage."""
_NUMBERED = 9
"""Number of alternatives that have a key."""
_EIGHTHS = " ▏▎▍▌▋▊▉█"


class DistributionView(Widget):
    """Shows the alternatives of a token as a bar chart, with the chosen one marked."""

    DEFAULT_CSS = "DistributionView { height: 8; }"

    def __init__(self) -> None:
        super().__init__()
        self._heading = ""
        self._rows: tuple[AlternativeRow, ...] = ()

    def show(self, heading: str, token: Token | None) -> None:
        """Show a heading, and the alternatives of a token if there is one."""
        rows = rows_of(token) if token is not None else ()
        if (heading, rows) != (self._heading, self._rows):
            self._heading, self._rows = heading, rows
            self.refresh()

    def render(self) -> Content:
        """Draw the rows that fit, always including the chosen token; their percentages sum to 100."""
        width, height = self.content_size
        lines = [Content.styled(fit(self._heading, width), "$text-muted")]
        lines += [_line(row, width) for row in trimmed(self._rows, max(height - 1, 2))]
        return Content("\n").join(lines)


def trimmed(rows: Sequence[AlternativeRow], most: int) -> list[AlternativeRow]:
    """Reduce the rows to at most `most`, by adding the last alternatives to the remaining mass."""
    kept = list(rows)
    if len(kept) <= most:
        return kept
    remaining = 0.0
    if kept[-1].is_remaining:
        remaining = kept.pop().mass or 0.0
    while len(kept) >= most:
        index = max(index for index, row in enumerate(kept) if not row.is_chosen)
        remaining += kept.pop(index).mass or 0.0
    return [*kept, remaining_row(remaining)]


def _line(row: AlternativeRow, width: int) -> Content:
    label = min(_LABEL, max(width - _PERCENTAGE - 3, 1))
    room = max(width - label - _PERCENTAGE - 4, 0)
    percentage = "—".rjust(6) if row.mass is None else percent(row.mass)
    style = "bold" if row.is_chosen else "$text-muted" if row.position is None else ""
    number = str(row.position + 1) if row.position is not None and row.position < _NUMBERED else " "
    return Content.assemble(
        (number, "$text-muted"),
        ("▸" if row.is_chosen else " ", "$text-accent"),
        (fit(row.label, label), style),
        " ",
        (fit(_bar(row.mass or 0.0, room), room), "$accent" if row.is_chosen else "$text-muted"),
        (f" {percentage}", style),
    )


def _bar(mass: float, room: int) -> str:
    eighths = round(mass * room * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


_SHOWN_PROMPT = 200
"""Characters shown of the prompt's end before each answer."""


class CompareColumn(Container):
    """Shows a run while it streams and afterwards; the screen places it."""

    DEFAULT_CSS = """
    CompareColumn {
        border: round $border-blurred; border-title-color: $text-muted; border-subtitle-color: $text-muted;
        border-title-style: bold; padding: 0 1; background: $background; layout: vertical;
    }
    CompareColumn:focus-within { border: round $accent; border-title-color: $foreground; }
    CompareColumn TokenView { height: 1fr; max-width: 102; }
    """

    view = getters.query_one(TokenView)
    distribution = getters.query_one(DistributionView)
    grid = getters.query_one(FigureGrid)

    def __init__(self, column: Column, run: Run, scale: Scale) -> None:
        """`scale` is the colour scale shared by all columns."""
        super().__init__()
        self._scale = scale
        self.column = column
        self.run = run
        self._summed = False
        self._state: tuple[str, RunState] | None = None
        self._prompt = _end_of(prompt_to_editor(run.request.prompt))
        self._priced = column.endpoint.prices is not None
        self.set_class(self._priced, "-priced")

    def compose(self) -> ComposeResult:
        yield TokenView()
        yield DistributionView()
        yield FigureGrid(figures_of_run(self.run, None, priced=self._priced))

    def on_mount(self) -> None:
        """Show the prompt and the answer so far."""
        self.view.add_section(self._section(0, None))

    @property
    def choice(self) -> Choice | None:
        """The answer shown; None before its first token."""
        return self.run.ordered[0] if self.run.choices else None

    def pull(self) -> None:
        """Show tokens received since the last call."""
        choice = self.choice
        if choice is not None and self.view.sections[0].choice is not choice:
            self.view.update_section(self._section(0, None))
        self.view.pull()

    def show_state(self, title: str, state: RunState) -> None:
        """Update the title, the state of the run, and its figures."""
        if (title, state) != self._state:
            self._state = title, state
            self.border_title = Content(title)
            self.border_subtitle = Content.styled(str(state), f"$text-{state.tone}")
        if self.run.is_running:
            self.grid.show(figures_of_run(self.run, None, priced=self._priced))
        elif not self._summed and self.choice is not None:
            self._summed = True
            summary = summarise(self.run, self.choice, self.column.endpoint.prices)
            self.grid.show(figures_of_run(self.run, summary, priced=self._priced))

    def show_agreement(self, shared: int, divergence: Divergence | None) -> None:
        """Dim the first `shared` tokens, which all answers have in common, and mark the divergence."""
        self.view.update_section(self._section(shared, divergence.position if divergence else None))

    def show_token(self, position: int, *, diverges: bool) -> None:
        """Show the distribution at a token; `diverges` marks it as the first that differs."""
        choice = self.choice
        if choice is not None and position < len(choice):
            heading = f"{'diverges at ' * diverges}token {position + 1}"
            self.distribution.show(heading, choice.token(position))
        else:
            ended = "not there yet" if self.run.is_running else "ended earlier"
            self.distribution.show(f"token {position + 1}: {ended}", None)

    def _section(self, shared: int, marked: int | None) -> Section:
        return Section(
            self.run.id,
            prompt=self._prompt,
            choice=self.choice,
            figures=self._error(),
            dim_before=shared,
            marked=marked,
            scale=self._scale,
        )

    def _error(self) -> str:
        if (error := self.run.error) is None:
            return ""
        parts = [f"✗ {error.title}", error.message, f"at {self.run.endpoint}", error.hint]
        return visible("\n".join(one_line(part) for part in parts if part))


def _end_of(prompt: str) -> str:
    return prompt if len(prompt) <= _SHOWN_PROMPT else f"…{prompt[-_SHOWN_PROMPT:]}"
