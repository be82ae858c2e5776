"""The answers of one run as a list with figures, to compare them and go to one."""

from __future__ import annotations

from textual import on
from textual.content import Content
from textual.widgets import OptionList

from workbench.domain.choice import Choice
from workbench.domain.distinct_answers import answers_of
from workbench.domain.run import Run
from workbench.tui.branches.choice_rows import BEST, FORK, choice_line, choice_passage
from workbench.tui.branches.listing_screen import ListingScreen
from workbench.tui.commands.command import Where


class ChoicesScreen(ListingScreen[Choice]):
    """Shows a run's answers, equal ones in one row; answers with the choice to go to, or None."""

    heading = "Choices"
    where = Where.CHOICES

    def __init__(self, run: Run, number: int, current: Choice | None = None) -> None:
        """`number` is the run's in its session, `current` the choice to begin at."""
        super().__init__()
        self._answered = run
        self._number = number
        self._current = current
        self.answers = answers_of(run.ordered)

    def show_rows(self) -> None:
        """Show the answers."""
        run, answers = self._answered, self.answers
        rows = [choice_line(run, answer, self.row_width) for answer in answers]
        places = [place for place, answer in enumerate(answers) if self._current in answer.choices]
        count = sum(len(answer.choices) for answer in answers)
        words = f"run {self._number} · {count} choices, {len(answers)} different"
        self.put_rows(rows, places[0] if places else 0, f"{words} · {BEST} likeliest · {FORK} diverges")

    def passage_of(self, place: int) -> Content:
        """The answer's text and figures."""
        return choice_passage(self._answered, self.answers[place])

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self.answers[event.option_index].choice)
