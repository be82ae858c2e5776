"""The choices screen: the answers of a run with their figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.cells import cell_len
from textual import getters, on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import OptionList

from workbench.domain.choice import Choice
from workbench.domain.display import visible
from workbench.domain.run import Run
from workbench.domain.run_choices import Answer, answers_of
from workbench.tui.branches.row_listing import RowListing, end_of, ending_of, figure_columns, on_one_line
from workbench.tui.commands.command import Where
from workbench.tui.popups.key_row import KeyRow
from workbench.tui.popups.result_screen import ResultScreen
from workbench.workspace.run_state import figures_of

BEST, FORK = "★", "┆"
"""Marks of the likeliest answer, and of the tokens at which answers diverge."""
_SHOWN = 80
"""The most tokens shown in a row after the common prefix."""
_PASSAGE = 2000
"""The most tokens shown in the passage after the common prefix."""


def choice_line(run: Run, answer: Answer, width: int) -> Content:
    """Return the row of an answer: its mark, choices, text from the end of the common prefix, and figures."""
    choice = answer.choice
    figures = figure_columns(choice, ending_of(run, choice, width), width)
    count = f"×{len(answer.choices)}" if len(answer.choices) > 1 else ""
    head = f"{BEST if answer.is_best else ' '} {choice.index + 1:<3} {count:<4}"
    room = max(width - cell_len(head) - cell_len(figures), 0)
    shared = "".join(choice.texts(choice.echoed, answer.shared))
    before = end_of(shared, room // 3) if shared else ""
    text = Content("").join(_marked(answer, answer.shared + _SHOWN, on_one_line))
    return Content.assemble(
        (head, "bold"),
        (before, "$text-muted"),
        _fit(text, max(room - cell_len(before), 0)),
        (figures, "$text-muted"),
    )


def _fit(text: Content, width: int) -> Content:
    """Truncate or pad a text to a width in cells."""
    if text.cell_length > width:
        text = text.truncate(width, ellipsis=True)
    return text.pad_right(width - text.cell_length)


def _marked(answer: Answer, stop: int, shown: Callable[[str], str]) -> Iterator[Content]:
    """Yield an answer from the end of the common prefix up to a token, with a mark at each divergence."""
    choice, start = answer.choice, answer.shared
    for fork in answer.forks:
        if fork.token <= stop:
            yield Content(shown("".join(choice.texts(start, fork.token))))
            yield Content.styled(FORK, "bold $text-accent")
            start = fork.token
    yield Content(shown("".join(choice.texts(start, stop))))


def choice_passage(run: Run, answer: Answer) -> Content:
    """Return all about an answer: choices, figures, divergences, and text with the common prefix dimmed."""
    choice = answer.choice
    numbers = ", ".join(str(equal.index + 1) for equal in answer.choices)
    noun, equal = ("choices", " · equal") if len(answer.choices) > 1 else ("choice", "")
    title = f"{noun} {numbers} of {run.request.choices}{equal}"
    title += f" · {BEST} best mean logprob" if answer.is_best else ""
    parts = [
        Content.styled(title, "bold"),
        Content.styled(f"\n{figures_of(run, choice.index)}", "$text-muted"),
    ]
    for fork in answer.forks:
        others = ", ".join(str(index + 1) for index in fork.others)
        noun = "choices" if len(fork.others) > 1 else "choice"
        text = f"\n{FORK} diverges from {noun} {others} at token {fork.token - choice.echoed + 1}"
        parts.append(Content.styled(text, "$text-accent"))
    shared = visible("".join(choice.texts(choice.echoed, answer.shared)))
    parts.append(Content.styled(f"\n\n{shared}", "$text-muted"))
    return Content("").join([*parts, *_marked(answer, answer.shared + _PASSAGE, visible)])


class ChoicesScreen(ResultScreen[Choice]):
    """Lists a run's answers, equal ones in one row; returns the choice to go to, or None."""

    where = Where.CHOICES

    listing = getters.query_one(RowListing)

    def __init__(self, run: Run, number: int, current: Choice | None = None) -> None:
        """`number` is the run's number in the session; `current` is the choice to highlight first."""
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
        """List the answers."""
        run, answers = self._answered, self.answers
        rows = [choice_line(run, answer, self.listing.row_width) for answer in answers]
        current = next((index for index, answer in enumerate(answers) if self._current in answer.choices), 0)
        count = sum(len(answer.choices) for answer in answers)
        about = (
            f"run {self._number} · {count} choices, {len(answers)} different"
            f" · {BEST} likeliest · {FORK} diverges"
        )
        self.listing.put_rows(rows, current, about)

    @on(RowListing.RowHighlighted)
    def _show_passage(self) -> None:
        if (index := self.listing.highlighted) is not None:
            self.listing.show_passage(choice_passage(self._answered, self.answers[index]))

    @on(OptionList.OptionSelected)
    def _choose(self) -> None:
        if (index := self.listing.highlighted) is not None:
            self.dismiss(self.answers[index].choice)
