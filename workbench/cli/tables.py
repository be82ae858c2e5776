"""Tables on standard output; every cell is untrusted text, never markup."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from workbench.domain.choice import Token, top_choice
from workbench.domain.display import figure, one_line, percent, token_text, visible
from workbench.domain.figures import probability
from workbench.domain.measures import Summary
from workbench.domain.regression_case import ReportedToken
from workbench.domain.run import Run
from workbench.workspace.run_state import finish_text

SUMMARY_HEADS = ("tokens", "perplexity", "mean logprob", "distinct-2", "TTFT", "tok/s", "ended", "cost")
"""Titles of the columns of `summary_cells`."""

_PIPE_WIDTH = 200


def print_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table as wide as the terminal, or 200 columns wide to a pipe; the first column may wrap."""
    console = Console(
        file=sys.stdout,
        width=None if sys.stdout.isatty() else _PIPE_WIDTH,
        highlight=False,
        emoji=False,
        markup=False,
    )
    table = Table(box=SIMPLE_HEAD, title=Text(one_line(title)) if title else None, title_justify="left")
    for column, head in enumerate(heads):
        table.add_column(
            Text(head), justify="left" if column == 0 or head == "text" else "right", no_wrap=column > 0
        )
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    console.print(table)


def summary_cells(run: Run, summary: Summary) -> list[str]:
    """Return a choice's figures as cells under `SUMMARY_HEADS`; a dash if unknown."""
    return [
        str(summary.tokens),
        figure(summary.perplexity, ".2f"),
        figure(summary.mean_logprob, ".3f"),
        figure(summary.distinct_2, ".2f"),
        figure(summary.first_token, ".2f", " s"),
        figure(summary.tokens_per_second, ".0f"),
        finish_text(run, summary.finish_reason) if summary.finish_reason else "—",
        figure(summary.cost, ".6f"),
    ]


def nats(logprob: float | None) -> str:
    """Format a logprob; a dash if None."""
    return figure(logprob, ".3f")


def percent_of(logprob: float | None) -> str:
    """Format the probability of a logprob in nats: `29.3%`; a dash if None."""
    mass = probability(logprob)
    return "—" if mass is None else percent(mass)


def distribution(found: ReportedToken, figure: Callable[[float | None], str] = nats) -> str:
    """Return a token and its listed alternatives on one line, with logprobs formatted by `figure`."""
    if not found.token and found.logprob is None:
        return "the end"
    listed = "  ".join(f"{token_text(text)} {figure(logprob)}" for text, logprob in found.alternatives)
    own = f"{token_text(found.token)} {figure(found.logprob)}"
    return f"{own}   of: {listed or 'no alternatives listed'}"


def top_choice_cell(token: Token) -> str:
    """Return a token's most likely alternative and its probability, or a dash."""
    best = top_choice(token.alternatives)
    return "—" if best is None else f"{token_text(best.text, best.raw)} {percent_of(best.logprob)}"
