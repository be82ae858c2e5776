"""What the command line shows of answers side by side: figures, and the first token in which they differ."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.cli.messages import print_notes
from workbench.cli.tables import SUMMARY_HEADS, distribution, percent_of, print_table, summary_cells
from workbench.domain.case_comparison import ReportedToken
from workbench.domain.display import one_line, plural
from workbench.domain.divergence import Divergence, common_prefix, distinguishing, first_divergence
from workbench.domain.endpoint import Endpoint
from workbench.domain.run import Run
from workbench.domain.scoring import are_scorings
from workbench.domain.summary import summarise
from workbench.runner.compare_plan import Column, remarks


def print_compared(title: str, head: str, columns: Sequence[Column], runs: Sequence[Run]) -> None:
    """Print a table with a row for each run, and where the answers part; `head` says what the rows are."""
    differs = distinguishing([column.parameters for column in columns])
    cells = [
        [_title(column, fields), *_answer(run, column.endpoint)]
        for column, fields, run in zip(columns, differs, runs, strict=True)
    ]
    print_table(title, [head, *SUMMARY_HEADS, "text"], cells)
    shared, divergence = agreement(runs)
    if divergence is not None and not are_scorings(runs):
        _print_divergence(shared, divergence, [column.title for column in columns])
    print_notes(remarks(runs))


def agreement(runs: Sequence[Run]) -> tuple[int, Divergence | None]:
    """How many leading tokens the runs' first choices share, and where they first diverge."""
    choices = [run.ordered[0] for run in runs if run.choices]
    if len(choices) < max(len(runs), 2):
        return 0, None
    shared = common_prefix(choices)
    return shared, first_divergence(choices, shared)


def _print_divergence(shared: int, divergence: Divergence, titles: Sequence[str]) -> None:
    print(f"{plural(shared, 'token')} in common; diverges at token {divergence.position + 1}:")
    width = max(map(len, titles))
    for title, token in zip(titles, divergence.tokens, strict=True):
        shown = distribution(ReportedToken.of(token), percent_of)
        print(f"  {one_line(title, 40):{min(width, 40)}}  {shown}")
    print()


def _title(column: Column, differs: Sequence[str]) -> str:
    return f"{column.title} ({', '.join(differs)})" if differs else column.title


def _answer(run: Run, endpoint: Endpoint) -> list[str]:
    if run.error is not None or not run.choices:
        shown = run.error.title if run.error is not None else str(run.outcome)
        return ["—"] * len(SUMMARY_HEADS) + [one_line(shown, 60)]
    choice = run.ordered[0]
    return [*summary_cells(summarise(run, choice, endpoint.prices)), one_line(choice.text, 60)]
