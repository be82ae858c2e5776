"""One column of a comparison: its answer, its figures, and the distribution where answers part."""

from __future__ import annotations

from textual import getters
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content

from workbench.domain.choice import Choice
from workbench.domain.display import one_line, visible
from workbench.domain.divergence import Divergence
from workbench.domain.prompt import prompt_to_editor
from workbench.domain.run import Run
from workbench.domain.summary import summarise
from workbench.domain.token_levels import Scale
from workbench.runner.compare_plan import Column
from workbench.tui.compare.distribution import DistributionView
from workbench.tui.compare.figure_grid import FigureGrid, figures_of_summary, figures_while_running
from workbench.tui.tokens.token_view import TokenView
from workbench.tui.tokens.transcript import Section
from workbench.workspace.run_state import RunState

_SHOWN_PROMPT = 200
"""Characters of the prompt's end that stand before each answer."""


class CompareColumn(Container):
    """Shows a run as it grows; its screen lays it out beside, below or in place of the others."""

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
        """`scale` is the one that all columns share."""
        super().__init__()
        self._scale = scale
        self.column = column
        self.run = run
        self._summed = False
        self._state: tuple[str, RunState] | None = None
        self._prompt = _end_of(prompt_to_editor(run.request.prompt))
        self._figures = figures_while_running(run, priced=self._priced)
        self.set_class(self._priced, "-priced")

    def compose(self) -> ComposeResult:
        yield TokenView()
        yield DistributionView()
        yield FigureGrid(self._figures)

    def on_mount(self) -> None:
        """Show the prompt, and what there is of the answer."""
        self.view.add_section(self._section(0, None))

    @property
    def _priced(self) -> bool:
        return self.column.endpoint.prices is not None

    @property
    def choice(self) -> Choice | None:
        """The answer that is shown; None before its first token."""
        return self.run.ordered[0] if self.run.choices else None

    def pull(self) -> None:
        """Show what the answer has got since."""
        choice = self.choice
        if choice is not None and self.view.sections[0].choice is not choice:
            self.view.update_section(self._section(0, None))
        self.view.pull()

    def show_state(self, title: str, state: RunState) -> None:
        """Show the name and what the run is doing, and its figures."""
        if (title, state) != self._state:
            self._state = title, state
            self.border_title = Content(title)
            self.border_subtitle = Content.styled(str(state), f"$text-{state.tone}")
        self._show_figures()

    def _show_figures(self) -> None:
        if self.run.is_running:
            self.grid.show(figures_while_running(self.run, priced=self._priced))
        elif not self._summed and self.choice is not None:
            self._summed = True
            summary = summarise(self.run, self.choice, self.column.endpoint.prices)
            self.grid.show(figures_of_summary(self.run, summary, priced=self._priced))

    def show_agreement(self, shared: int, divergence: Divergence | None) -> None:
        """Dim the tokens that all answers share, and mark the first that differs."""
        self.view.update_section(self._section(shared, divergence.position if divergence else None))

    def show_token(self, position: int, *, diverges: bool) -> None:
        """Show the distribution at a token; `diverges` says that the answers first differ there."""
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
