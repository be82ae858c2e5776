"""The grid screen: the cells of a sweep or prompt set coloured by a measure, and a bar chart."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from rich.text import Text
from textual import getters, on
from textual.app import ComposeResult
from textual.content import Content
from textual.coordinate import Coordinate
from textual.widgets import Static

from workbench.domain.colour_modes import Mode
from workbench.domain.display import one_line, visible
from workbench.domain.measures import Measure, show_spread
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.compare.screen import Adopted, CompareScreen
from workbench.tui.flows import FlowContext, asks
from workbench.tui.grid.cell_table import LABEL_CELLS, CellTable, TableCell
from workbench.tui.popups.heading_row import HeadingRow
from workbench.tui.popups.key_row import KeyRow
from workbench.tui.popups.result_screen import ResultScreen
from workbench.tui.theme.token_colours import styles_of
from workbench.tui.tokens.transcript import Section
from workbench.tui.tokens.transcript_view import TranscriptView
from workbench.workspace.comparison import MOST_COLUMNS, Comparison
from workbench.workspace.grid import Grid
from workbench.workspace.run_state import figures_of

_REFRESHES_A_SECOND = 4
_LEVELS = 5
"""Number of colours."""
_PLOT_ROWS = 5
_MEASURES = list(Measure)


class GridScreen(ResultScreen[Adopted | None]):
    """Shows a grid; returns the column adopted or branched from in one of its cells, or None."""

    DEFAULT_CSS = """
    GridScreen CellTable { max-height: 40%; background: $background; }
    GridScreen #plot { height: auto; max-height: 7; padding: 0 1; color: $foreground; }
    GridScreen TranscriptView { height: 1fr; max-width: 104; padding: 0 1; }
    GridScreen #legend { height: 1; padding: 0 1; }
    GridScreen #remarks { height: auto; max-height: 3; padding: 0 1; color: $text-warning; }
    """
    BINDINGS = bindings_at(Where.GRID)
    where = Where.GRID

    table = getters.query_one(CellTable)
    answer = getters.query_one(TranscriptView)

    def __init__(self, grid: Grid) -> None:
        super().__init__()
        self._grid = grid
        self._measure = Measure.PERPLEXITY

    def compose(self) -> ComposeResult:
        layout = self._grid.layout
        yield HeadingRow(layout.heading)
        corner, *names = (one_line(name, LABEL_CELLS) for name in (layout.corner, *layout.rows))
        yield CellTable(corner, names, [one_line(head, LABEL_CELLS) for head in layout.across])
        yield Static(id="plot")
        yield Static(id="legend")
        answer = TranscriptView(id="answer")
        answer.can_focus = False
        # On this screen, colours show the measure of the cells.
        answer.mode = Mode.OFF
        yield answer
        yield Static(id="remarks")
        yield KeyRow(Where.GRID)

    def on_mount(self) -> None:
        """Send the requests without an answer, and update the cells while they stream."""
        self._show_cells()
        self.table.focus()
        self._grid.start()
        self._timer = self.set_interval(1 / _REFRESHES_A_SECOND, self._look)
        self.call_after_refresh(self._show)
        # Later, once the token styles follow the new theme.
        self.app.theme_changed_signal.subscribe(self, lambda _: self.call_later(self._show))

    def _look(self) -> None:
        running = self._grid.is_running
        if not running:
            self._grid.mark_all_changed()
        self._show()
        if not running:
            self._timer.pause()

    # --- display -----------------------------------------------------------------------------------------

    def _show(self) -> None:
        if self.is_closed:
            return
        self._show_cells()
        self._show_about()
        self._show_legend()
        self._show_plot()
        self._show_answer()
        remarks = "\n".join(f"! {remark}" for remark in self._grid.remarks[:3])
        self.query_one("#remarks", Static).update(Content(remarks))

    def _show_cells(self) -> None:
        """Update the cells: the texts of those that changed, and the colours of all."""
        edges = level_edges(self._grid.means(self._measure))
        table, styles = self.table, styles_of(self.app)
        changed, across = self._grid.changed(), len(self._grid.layout.across)
        cells = []
        for index, mean in enumerate(self._grid.cell_means(self._measure)):
            text = self._cell_text(*divmod(index, across)) if index in changed else table.cells[index].text
            style = styles.unknown if mean is None else styles.levels[bisect_left(edges, mean)]
            cells.append(TableCell(text, style))
        table.show(cells)

    def _cell_text(self, row: int, column: int) -> str:
        """Return a cell's value, or the state of its runs."""
        grid, indices = self._grid, self._grid.layout.indices_of(row, column)
        busiest = next((index for index in indices if grid.runs[index].is_running), None)
        if busiest is None:
            return show_spread(grid.values(row, column, self._measure)) or grid.state(indices[0]).glyph
        tokens = grid.runs[busiest].tokens
        return f"{grid.state(busiest).glyph} {tokens}" if tokens else grid.state(busiest).glyph

    def _show_about(self) -> None:
        self.query_one(KeyRow).running = self._grid.is_running
        self.query_one(HeadingRow).show(one_line(self._grid.layout.about), self._grid.summary)

    def _show_legend(self) -> None:
        parts: list[Text] = [Text(f"{self._measure}  ", style="bold")]
        means = self._grid.means(self._measure)
        edges = level_edges(means)
        ends = [*edges, *(mean for mean in means[-1:] if mean not in edges)]
        for end, style in zip(ends, styles_of(self.app).levels, strict=False):
            parts += [Text(f" ≤ {end:.3g} ", style=style), Text(" ")]
        if not means:
            parts.append(Text(self._nothing()))
        self.query_one("#legend", Static).update(Text.assemble(*parts), layout=False)

    def _nothing(self) -> str:
        """Explain why no cell has a value."""
        if self._grid.is_running or not any(run.tokens for run in self._grid.runs):
            return "no results yet"
        return (
            "no answer has logprobs: set them in the panel" if self._measure.needs_logprobs else "not known"
        )

    def _show_plot(self) -> None:
        """Show a bar chart of the row under the cursor, or of the only column."""
        layout = self._grid.layout
        if len(layout.across) > 1:
            row = self.table.cursor.row
            head = f"{self._measure} at {layout.corner} {one_line(layout.rows[row], LABEL_CELLS)}"
            labels = layout.across
            values = [self._grid.mean(row, index, self._measure) for index in range(len(labels))]
        else:
            head, labels = f"{self._measure} by {layout.corner}", layout.rows
            values = [self._grid.mean(index, 0, self._measure) for index in range(len(labels))]
        plain = [one_line(label, LABEL_CELLS) for label in labels]
        chart = bar_chart(plain, values, _PLOT_ROWS, self.size.width - 2)
        plot = Content.assemble((head, "$text-muted"), "\n", "\n".join(chart)) if chart else Content("")
        box = self.query_one("#plot", Static)
        if box.display != bool(chart):
            box.display = bool(chart)
        box.update(plot)

    def _show_answer(self) -> None:
        """Show the answers of the cell under the cursor, or of the first cell if on the row's name."""
        layout, cursor = self._grid.layout, self.table.cursor
        column = max(cursor.column - 1, 0)
        names = [f"{layout.corner} {layout.rows[cursor.row]}", *layout.across[column : column + 1]]
        title = " · ".join(one_line(name, LABEL_CELLS) for name in names)
        sections = []
        for index in layout.indices_of(cursor.row, column):
            run = self._grid.runs[index]
            choice = run.ordered[0] if run.choices else None
            ended = "" if run.is_running else f" · {figures_of(run)}"
            error = visible(f"✗ {run.error.title}") if run.error is not None else ""
            sections.append(Section(run.id, f"── {title}{ended}", choice=choice, figures=error))
        if sections != self.answer.sections:
            keys = [section.key for section in sections]
            is_other = keys != [section.key for section in self.answer.sections]
            self.answer.set_sections(sections)
            if is_other:
                self.answer.show_section(sections[0].key)
        self.answer.pull()

    @on(CellTable.CellHighlighted)
    def _follow_cursor(self) -> None:
        self._show_plot()
        self._show_answer()

    # --- actions -----------------------------------------------------------------------------------------

    @on(CellTable.Opened)
    def action_open_cell(self) -> None:
        """Show the answers of the cell under the cursor side by side, or of its row if on the row's name."""
        row, column = self.table.cursor
        if column == 0:
            self.action_compare_row()
            return
        indices = self._grid.layout.indices_of(row, column - 1)
        if any(self._grid.runs[index].is_running for index in indices):
            self.notify("The cell is not done yet.", timeout=2)
            return
        self._open_cells(indices)

    def action_compare_row(self) -> None:
        """Show the cells of this row side by side, or of the column if it is the only one."""
        layout, cursor = self._grid.layout, self.table.cursor
        if len(layout.across) > 1:
            cells = [layout.indices_of(cursor.row, index) for index in range(len(layout.across))]
            current = max(cursor.column - 1, 0)
        else:
            cells = [layout.indices_of(index, 0) for index in range(len(layout.rows))]
            current = cursor.row
        first = max(0, min(current - MOST_COLUMNS // 2, len(cells) - MOST_COLUMNS))
        shown = [indices[0] for indices in cells[first : first + MOST_COLUMNS]]
        ended = [index for index in shown if not self._grid.runs[index].is_running]
        if len(ended) < 2:
            self.notify("Fewer than two cells are done.", timeout=2)
            return
        left_out = len(cells) - len(ended)
        self._open_cells(ended, [f"{len(ended)} of {len(cells)} cells are shown"] if left_out else [])

    @asks
    async def _open_cells(self, flow: FlowContext, indices: Sequence[int], notes: Sequence[str] = ()) -> None:
        runs = [self._grid.runs[index] for index in indices]
        columns = [self._grid.columns[index] for index in indices]
        cells = Comparison(flow.workspace, columns, runs, notes)
        if (adopted := await flow.ask(CompareScreen(cells))) is not None:
            self._grid.stop()
            self.dismiss(adopted)

    def action_row(self, row: int) -> None:
        """Go to a row, counted from the end if negative."""
        self.table.cursor = Coordinate(row % len(self.table.names), self.table.cursor.column)

    def action_stop(self) -> None:
        """Stop all requests; close if none streams."""
        if not self._grid.stop():
            self.dismiss(None)

    def action_stop_all(self) -> None:
        """Stop all requests."""
        self._grid.stop()

    def action_measure(self) -> None:
        """Show and colour by the next measure."""
        index = (_MEASURES.index(self._measure) + 1) % len(_MEASURES)
        self._measure = _MEASURES[index]
        self._grid.mark_all_changed()
        self._show()

    @asks
    async def action_resume(self, flow: FlowContext) -> None:
        """Send the requests that have no answer again, after a question."""
        if self._grid.is_running or not self._grid.left:
            self.notify("Nothing left to send.", timeout=2)
            return
        if await flow.confirmed(self._grid.cost, "send", "cancel"):
            self._grid.send_left()
            self._timer.resume()


def level_edges(ordered: Sequence[float]) -> list[float]:
    """Return the greatest value of each level except the last, for levels of about as many values each.

    With levels of equal ranges, a single outlier would put all other values into one level.
    """
    indices = (-(-len(ordered) * level // _LEVELS) - 1 for level in range(1, _LEVELS))
    return list(dict.fromkeys(ordered[max(index, 0)] for index in indices)) if ordered else []


_EIGHTHS = " ▁▂▃▄▅▆▇█"
_WIDEST = 9
_NARROWEST = 3
"""Cells of a bar."""
_GUTTER = 10
"""Cells for the scale at the left."""


def bar_chart(labels: Sequence[str], values: Sequence[float | None], height: int, width: int) -> list[str]:
    """Return the rows of a bar chart from the top, and a row of labels; bars that do not fit are left out.

    Bars start at zero, or at the least value if it is negative. Empty if no value is known.
    """
    known = [value for value in values if value is not None]
    if not known:
        return []
    low, high = min(0.0, *known), max(0.0, *known)
    each = max(_NARROWEST, min(_WIDEST, (width - _GUTTER) // len(values) - 1))
    fitting = max((width - _GUTTER) // (each + 1), 1)
    eighths = [
        None if value is None else round((value - low) / ((high - low) or 1) * height * 8)
        for value in values[:fitting]
    ]
    rows = []
    for row in range(height):
        floor = (height - 1 - row) * 8
        edge = f"{high:.3g}" if row == 0 else f"{low:.3g}" if row == height - 1 else ""
        bars = (
            " " * each if length is None else _EIGHTHS[min(max(length - floor, 0), 8)] * each
            for length in eighths
        )
        rows.append(f"{edge:>{_GUTTER - 1}} " + " ".join(bars))
    rows.append(" " * _GUTTER + " ".join(label[:each].ljust(each) for label in labels[:fitting]))
    return rows
