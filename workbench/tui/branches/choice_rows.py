"""The answers of one run as rows of a list: equal ones together, what they share dimmed, forks marked."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.cells import cell_len
from textual.content import Content

from workbench.domain.display import visible
from workbench.domain.distinct_answers import Answer
from workbench.domain.run import Run
from workbench.tui.branches.row_text import end_of, ending_of, figure_columns, on_one_line
from workbench.workspace.run_state import figures_of

BEST, FORK = "★", "┆"
"""Marks of the likeliest answer, and of a place where answers part."""
_SHOWN = 80
"""Tokens of an answer that a row may show after what is shared."""
_PASSAGE = 2000
"""Tokens that the passage shows after what is shared."""


def choice_line(run: Run, answer: Answer, width: int) -> Content:
    """An answer in one row: its mark, which choices gave it, its text from what is shared on, its figures."""
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
    """Text cut or filled to a width in cells."""
    if text.cell_length > width:
        text = text.truncate(width, ellipsis=True)
    return text.pad_right(width - text.cell_length)


def _marked(answer: Answer, stop: int, shown: Callable[[str], str]) -> Iterator[Content]:
    """An answer after what is shared, up to a token, with a mark wherever it diverges from another one."""
    choice, start = answer.choice, answer.shared
    for fork in answer.forks:
        if fork.token <= stop:
            yield Content(shown("".join(choice.texts(start, fork.token))))
            yield Content.styled(FORK, "bold $text-accent")
            start = fork.token
    yield Content(shown("".join(choice.texts(start, stop))))


def choice_passage(run: Run, answer: Answer) -> Content:
    """All that there is to say of an answer, and its text with what is shared dimmed and forks marked."""
    choice = answer.choice
    numbers = ", ".join(str(one.index + 1) for one in answer.choices)
    many = len(answer.choices) > 1
    title = f"choice{'s' * many} {numbers} of {run.request.choices}" + " · equal" * many
    title += f" · {BEST} best mean logprob" if answer.is_best else ""
    parts = [
        Content.styled(title, "bold"),
        Content.styled(f"\n{figures_of(run, choice.index)}", "$text-muted"),
    ]
    for fork in answer.forks:
        others = ", ".join(str(index + 1) for index in fork.others)
        noun = "choices" if len(fork.others) > 1 else "choice"
        words = f"\n{FORK} diverges from {noun} {others} at token {fork.token - choice.echoed + 1}"
        parts.append(Content.styled(words, "$text-accent"))
    shared = visible("".join(choice.texts(choice.echoed, answer.shared)))
    parts.append(Content.styled(f"\n\n{shared}", "$text-muted"))
    return Content("").join([*parts, *_marked(answer, answer.shared + _PASSAGE, visible)])
