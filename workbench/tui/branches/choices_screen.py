"""The answers of one run as a list with figures, to compare them and go to one."""

from __future__ import annotations

from textual import getters, on
from textual.app import ComposeResult
from textual.widgets import OptionList

from workbench.domain.choice import Choice
from workbench.domain.distinct_answers import answers_of
from workbench.domain.run import Run
from workbench.tui.branches.choice_rows import BEST, FORK, choice_line, choice_passage
from workbench.tui.branches.row_listing import RowListing
from workbench.tui.commands.command import Where
from workbench.tui.popups.key_row import KeyRow
from workbench.tui.popups.result_screen import ResultScreen


class ChoicesScreen(ResultScreen[Choice]):
    """Shows a run's answers, equal ones in one row; answers with the choice to go to, or None."""

    where = Where.CHOICES

    listing = getters.query_one(RowListing)

    def __init__(self, run: Run, number: int, current: Choice | None = None) -> None:
        """`number` is the run's in its session, `current` the choice to begin at."""
        super().__init__()
        self._answered = run
        self._number = number
        self._current = current
        self.answers = answers_of(run.ordered)

    def compose(self) -> ComposeResult:
        yield RowListing("Choices")
        yield KeyRow(self.where)

    @on(RowListing.RowsFitted)
    def show_rows(self) -> None:
        """Show the answers."""
        run, answers = self._answered, self.answers
        rows = [choice_line(run, answer, self.listing.row_width) for answer in answers]
        places = [place for place, answer in enumerate(answers) if self._current in answer.choices]
        count = sum(len(answer.choices) for answer in answers)
        words = f"run {self._number} · {count} choices, {len(answers)} different"
        words = f"{words} · {BEST} likeliest · {FORK} diverges"
        self.listing.put_rows(rows, places[0] if places else 0, words)

    @on(RowListing.RowHighlighted)
    def _show_passage(self) -> None:
        if (place := self.listing.place) is not None:
            self.listing.show_passage(choice_passage(self._answered, self.answers[place]))

    @on(OptionList.OptionSelected)
    def _choose(self) -> None:
        if (place := self.listing.place) is not None:
            self.dismiss(self.answers[place].choice)
