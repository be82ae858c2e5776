"""The compare screen: answers side by side, with their figures and where they diverge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.geometry import Size
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from workbench.domain.colour_modes import Mode, fitted, widest
from workbench.domain.display import one_line
from workbench.domain.errors import BadValueError
from workbench.domain.prompt import prompt_to_editor
from workbench.domain.scoring import SecondScoring, are_scorings
from workbench.runner.branching import Branch, branch_at
from workbench.runner.compare_plan import Column
from workbench.tui.breakpoints import HEIGHTS, WIDTHS
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.compare.column import CompareColumn
from workbench.tui.motion import Frames
from workbench.tui.popups.heading_row import HeadingRow
from workbench.tui.popups.key_row import KeyRow
from workbench.tui.popups.result_screen import ResultScreen
from workbench.tui.tokens.legend import Legend
from workbench.tui.tokens.token_view import NO_TOKEN, TokenView, no_alternative
from workbench.tui.tokens.transcript_view import TranscriptView
from workbench.workspace.comparison import Comparison
from workbench.workspace.rerun import Rerun

_FRAME = 1 / 30
"""Seconds."""


class Followers:
    """Scrolls views to the same row, a few per frame."""

    def __init__(self, owner: Widget, at_once: int) -> None:
        """`owner` is the widget whose timer is used; `at_once` is the number of views per frame."""
        self._owner = owner
        self._at_once = at_once
        self._y = 0
        self._behind: list[Widget] = []
        self._timer: Timer | None = None

    def follow(self, views: Iterable[Widget], y: int) -> None:
        """Scroll views to a row, and with them any that are still to be scrolled to an earlier one."""
        self._y = y
        self._behind += [view for view in views if view not in self._behind and view.scroll_offset.y != y]
        if self._behind and self._timer is None:
            self._timer = self._owner.set_interval(_FRAME, self._scroll_some)

    def _scroll_some(self) -> None:
        some, self._behind = self._behind[: self._at_once], self._behind[self._at_once :]
        for view in some:
            view.scroll_to(y=self._y, animate=False, force=True)
        if not self._behind and self._timer is not None:
            self._timer.stop()
            self._timer = None


_LEAST_WIDTH, _LEAST_HEIGHT = 24, 9
"""Minimum cells of a column beside or below others."""
_FEW = 3
"""The most columns shown side by side below 160 cells of width."""
_FOLLOW_AT_ONCE = 3
"""Columns scrolled per frame."""
_FIGURES_EVERY = 3
"""Frames between updates of one column's figures and the next column's."""
_LINES_EVERY = 6
"""Frames between updates of the lines above and below the columns."""
_SELECT = "Press ← or → to select a token"


@dataclass(frozen=True, slots=True)
class Adopted:
    """The column whose settings to continue with."""

    column: Column | None
    """None for a scoring, which the workbench sent with settings of its own."""
    branch: Branch | None = None
    """A branch to send with them."""


class CompareScreen(ResultScreen[Adopted | None]):
    """Shows a comparison; returns the column adopted or branched from, or None.

    The columns are side by side if each is wide enough to read, else below each other; in a narrow terminal,
    one at a time.
    """

    DEFAULT_CSS = """
    CompareScreen #tabs { height: 1; padding: 0 1; display: none; }
    CompareScreen #columns { height: 1fr; layout: horizontal; overflow-x: auto; overflow-y: hidden; }
    CompareScreen #remarks { height: auto; max-height: 3; padding: 0 1; color: $text-warning; }
    CompareScreen.-narrow #tabs { display: block; }
    CompareScreen.-beside CompareColumn { width: 1fr; height: 1fr; }
    CompareScreen.-beside.-many CompareColumn { width: 24; }
    CompareScreen.-beside.-low DistributionView { height: 6; }
    CompareScreen.-stacked #columns { layout: vertical; overflow-x: hidden; overflow-y: auto; }
    CompareScreen.-stacked CompareColumn { layout: horizontal; width: 1fr; height: 1fr; }
    CompareScreen.-stacked.-many CompareColumn { height: 9; }
    CompareScreen.-stacked TokenView { width: 1fr; height: 1fr; }
    CompareScreen.-stacked DistributionView { height: 1fr; width: 32; margin-left: 2; }
    CompareScreen.-stacked FigureGrid { width: 21; margin-left: 2; }
    CompareScreen.-stacked .-priced FigureGrid { width: 40; }
    CompareScreen.-narrow CompareColumn { width: 1fr; height: 1fr; display: none; }
    CompareScreen.-narrow CompareColumn.-current { display: block; }
    """
    HORIZONTAL_BREAKPOINTS, VERTICAL_BREAKPOINTS = WIDTHS, HEIGHTS
    BINDINGS = bindings_at(Where.COMPARE)

    heading = "Compare"
    """The beginning of the first row."""
    where = Where.COMPARE

    def __init__(
        self, comparison: Comparison, seed_note: str = "", second: SecondScoring | None = None
    ) -> None:
        """`seed_note` says which seed the columns share, and where it is from.

        `second` is the difference between two models' scorings of one text, if the columns show such.
        """
        super().__init__()
        self._comparison = comparison
        self._seed_note = seed_note
        self._second = second
        self._columns: list[CompareColumn] = []
        self._current = 0
        self._frames = Frames(self, self._frame)
        self._drawn = 0
        self._following: dict[TranscriptView, bool] = {}
        self._followers = Followers(self, _FOLLOW_AT_ONCE)

    def compose(self) -> ComposeResult:
        yield HeadingRow(self.heading)
        yield Static(id="tabs")
        pairs = zip(self._comparison.columns, self._comparison.runs, strict=True)
        scale = widest(fitted(run.request.parameters) for run in self._comparison.runs)
        self._columns = [CompareColumn(column, run, scale) for column, run in pairs]
        self._fit(self.app.size)
        with Container(id="columns"):
            yield from self._columns
        yield Static(id="remarks")
        if self._second is not None:
            legend = Legend()
            legend.mode = Mode.DIFFERENCE
            yield legend
        yield KeyRow(self.where)

    def on_mount(self) -> None:
        """Send the requests, and update the columns while they stream."""
        for column in self._columns:
            self._following[column.view] = True
            if self._second is not None and column.choice is not None:
                column.view.second = self._second.of_spans(column.choice)
                column.view.mode = Mode.DIFFERENCE
            self.watch(column.view, "scroll_y", partial(self._follow_scrolled, column), init=False)
            self.watch(column.view, "is_following", partial(self._follow_released, column), init=False)
        self._comparison.start()
        self._frames.resume()
        self._go_to(0)

    def on_resize(self, event: events.Resize) -> None:
        """Lay out the columns and lines for the new size."""
        self._fit(event.size)
        self._show_lines()

    def _fit(self, size: Size) -> None:
        """Arrange the columns for a size; they scroll if there is too little room for all."""
        is_beside = self.has_class("-wide") or (self.has_class("-medium") and len(self._columns) <= _FEW)
        self.set_class(is_beside, "-beside")
        self.set_class(not is_beside and self.has_class("-medium"), "-stacked")
        room = size.width // _LEAST_WIDTH if is_beside else (size.height - 2) // _LEAST_HEIGHT
        self.set_class(len(self._columns) > room, "-many")

    # --- frames ------------------------------------------------------------------------------------------

    def _frame(self) -> None:
        running = self._comparison.is_running
        if not running:
            for column in self._columns:
                column.pull()
            self._show()
            self._frames.pause()
            self.call_after_refresh(self._reveal_divergence)
            return
        self._columns[self._drawn % len(self._columns)].pull()
        turn, remainder = divmod(self._drawn, _FIGURES_EVERY)
        if not remainder:
            self._show_figures(turn % len(self._columns))
        if self._drawn % _LINES_EVERY == 0:
            self._show_lines()
        self._drawn += 1

    def _reveal_divergence(self) -> None:
        """Scroll to the token at which the answers diverge, unless the person has moved in one."""
        if self.is_closed:
            return
        divergence = self._comparison.agreement()[1]
        views = [column.view for column in self._columns]
        if divergence is None or any(view.cursor or not view.is_following for view in views):
            return
        for column in self._columns:
            if column.choice is not None and divergence.position < len(column.choice):
                column.view.reveal(column.run.id, divergence.position)

    def _show(self) -> None:
        """Update everything except the text."""
        self._show_figures(*range(len(self._columns)))
        self._show_lines()

    def _show_figures(self, *indices: int) -> None:
        """Update the titles, states, figures and distributions of some columns."""
        shared, divergence = self._comparison.agreement()
        position = self._position()
        diverges = divergence is not None and divergence.position == position
        titles = self._comparison.titles
        for index in indices:
            column = self._columns[index]
            column.show_state(titles[index], self._comparison.state(index))
            column.show_agreement(shared if len(self._columns) > 1 else 0, divergence)
            if position is None:
                column.distribution.show(self._comparison.agreed or _SELECT, None)
            else:
                column.show_token(position, diverges=diverges)

    def _show_lines(self) -> None:
        """Update the lines above and below the columns."""
        self._show_about()
        self._show_tabs()
        remarks = self._comparison.remarks
        box = self.query_one("#remarks", Static)
        box.display = bool(remarks)
        self._show_line(box, Content("\n".join(f"! {remark}" for remark in remarks)), layout=True)

    def _show_line(self, line: Static, content: Content, *, layout: bool = False) -> None:
        """Replace a line's text if it changed; drawing a line costs as much as drawing a column's rows."""
        if not (isinstance(line.content, Content) and content.is_same(line.content)):
            line.update(content, layout=layout)

    def _position(self) -> int | None:
        """Return the token whose distributions to show: the one under the cursor, else the divergence."""
        if (cursor := self.current.view.cursor) is not None:
            return cursor[1]
        divergence = self._comparison.agreement()[1]
        return divergence.position if divergence else None

    def _show_about(self) -> None:
        self.query_one(KeyRow).running = self._comparison.is_running
        summary = self._comparison.summary
        prompt = one_line(prompt_to_editor(self._comparison.runs[0].request.prompt), 400)
        room = self.size.width - len(summary) - len(self._seed_note) - 18
        end = prompt if len(prompt) <= room else f"…{prompt[-max(room - 1, 0) :]}" if room > 1 else ""
        text = Content.assemble(f"{end}  ", (self._seed_note, "$text-muted"))
        self.query_one(HeadingRow).show(text, summary)

    def _show_tabs(self) -> None:
        parts = []
        for index, column in enumerate(self._comparison.columns):
            glyph = self._comparison.state(index).glyph
            name = f" {one_line(column.title, 12)} {glyph} "
            parts.append(Content.styled(name, "reverse" if index == self._current else "$text-muted"))
        self._show_line(self.query_one("#tabs", Static), Content("").join(parts))

    # --- columns -----------------------------------------------------------------------------------------

    @property
    def current(self) -> CompareColumn:
        """The column with the focus."""
        return self._columns[self._current]

    def _go_to(self, index: int) -> None:
        self._current = index
        for other, column in enumerate(self._columns):
            column.set_class(other == index, "-current")
        self.current.view.focus()
        self._show()

    def action_column(self, step: int) -> None:
        """Go to the next or previous column."""
        self._go_to((self._current + step) % len(self._columns))

    @on(events.DescendantFocus)
    def _follow_focus(self, event: events.DescendantFocus) -> None:
        for index, column in enumerate(self._columns):
            if column.view is event.widget and index != self._current:
                self._go_to(index)

    # --- scrolling together ------------------------------------------------------------------------------

    def _follow_scrolled(self, column: CompareColumn, _: float) -> None:
        view = column.view
        was, self._following[view] = self._following[view], view.is_following
        # A view that follows its text scrolls alone.
        if not (was and view.is_following):
            self._scroll_others(column)

    def _follow_released(self, column: CompareColumn, is_following: bool) -> None:
        if not is_following:
            self._following[column.view] = False
            self._scroll_others(column)

    def _scroll_others(self, column: CompareColumn) -> None:
        if not (column is self.current or column.view.mouse_hover):
            return
        others = [other.view for other in self._columns if other is not column]
        self._followers.follow(others, column.view.scroll_offset.y)

    # --- actions -----------------------------------------------------------------------------------------

    @on(TokenView.CursorMoved)
    def _show_cursor(self) -> None:
        # While runs stream, the other columns are updated in turn.
        self._show_figures(*([self._current] if self._comparison.is_running else range(len(self._columns))))

    def action_stop(self) -> None:
        """Stop this column; if it has ended, all others; if they have ended too, close."""
        if not self._comparison.stop_column(self._current) and not self._comparison.stop():
            self.dismiss(None)

    def action_copy_or_stop_all(self) -> None:
        """Copy the selection, else stop all columns."""
        if text := self.current.view.selected_text():
            self.app.copy_to_clipboard(text)
        else:
            self._comparison.stop()

    def action_copy_answer(self) -> None:
        """Copy the selection, else this column's exact text."""
        choice = self.current.choice
        self.app.copy_to_clipboard(self.current.view.selected_text() or (choice.text if choice else ""))

    def action_adopt(self) -> None:
        """Close and adopt this column's settings, stopping all runs."""
        if (column := self._settings()) is None:
            self.notify("A scoring was sent with fixed settings; there are none to adopt.", timeout=3)
            return
        self._comparison.stop()
        self.dismiss(Adopted(column))

    def _settings(self) -> Column | None:
        return None if are_scorings([self.current.run]) else self._comparison.columns[self._current]

    def action_branch(self, digit: int) -> None:
        """Close and branch at the token whose alternatives are shown, with an alternative counted from 1."""
        choice, position = self.current.choice, self._position()
        if choice is None or position is None or position >= len(choice):
            self.notify(NO_TOKEN, timeout=3)
            return
        alternatives = choice.token(position).alternatives
        if digit > len(alternatives):
            self.notify(no_alternative(digit, len(alternatives)), timeout=3)
            return
        try:
            branch = branch_at(self.current.run, choice, position, alternatives[digit - 1])
        except BadValueError as problem:
            self.notify(str(problem), title="Nothing was sent", severity="error")
            return
        self._comparison.stop()
        self.dismiss(Adopted(self._settings(), branch))

    async def action_keep(self) -> None:
        """Close the other columns and stop their runs, which stay in the session."""
        if len(self._columns) == 1:
            return
        kept = self.current
        self._comparison.keep(self._current)
        others = [column for column in self._columns if column is not kept]
        self._columns, self._current = [kept], 0
        for column in others:
            await column.remove()
        self._fit(self.size)
        self._go_to(0)

    def action_difference(self) -> None:
        """Move the cursor of every column to the first token at which the answers diverge."""
        divergence = self._comparison.agreement()[1]
        if divergence is None:
            self.notify("The answers are identical so far.", timeout=2)
            return
        for column in self._columns:
            if column.choice is not None and divergence.position < len(column.choice):
                column.view.move_cursor(column.run.id, divergence.position)


class RerunScreen(CompareScreen, inherit_bindings=False):
    """A comparison of a run with its re-run; there is no column to adopt, as the settings are the same."""

    BINDINGS = bindings_at(Where.EVERYWHERE, Where.RERUN)
    heading = "Re-run"
    where = Where.RERUN

    def __init__(self, rerun: Rerun) -> None:
        seed = rerun.recorded.request.parameters.get("seed")
        super().__init__(rerun, "no seed" if seed is None else f"seed {seed}")
