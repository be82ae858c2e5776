"""Parts of answers and their figures as the rows of a list show them."""

from __future__ import annotations

from math import exp

from rich.cells import cell_len

from workbench.domain.choice import Choice
from workbench.domain.display import one_line, visible
from workbench.domain.figures import completion_logprobs, mean_logprob
from workbench.domain.run import Run
from workbench.tui.fixed_width import fit
from workbench.workspace.run_state import finish_words

_MOST_SURPRISAL = 99.0
"""Nats of mean surprisal above which a perplexity has no room."""
_WIDE = 90
"""Cells from which on a row has room for every ending in full."""


def figure_heads(width: int) -> str:
    """The heads of `figure_columns`."""
    return f"{'tok':>6} {'ppl':>7} {'mean lp':>8} {fit('ended', _ending_cells(width))}"


def _ending_cells(width: int) -> int:
    return 14 if width >= _WIDE else 7


def ending_of(run: Run, choice: Choice, width: int) -> str:
    """How a choice ended: in words where a row of a width in cells has room, else the endpoint's own."""
    if (reason := choice.finish_reason) is None:
        return "…" if run.is_running else "—"
    return finish_words(run, reason) if width >= _WIDE else one_line(reason, 12)


def figure_columns(choice: Choice | None, ending: str, width: int) -> str:
    """Tokens, perplexity, mean logprob and how it ended, in columns for a row of a width in cells."""
    tokens = ppl = mean = ""
    if choice is not None:
        tokens, ppl, mean = str(len(choice) - choice.echoed), "—", "—"
        if (value := mean_logprob(completion_logprobs(choice))) is not None:
            mean, ppl = f"{value:.3f}", f"{exp(min(-value, _MOST_SURPRISAL)):.3g}"
    return f"{tokens:>6} {ppl:>7} {mean:>8} {fit(ending, _ending_cells(width))}"


def on_one_line(text: str) -> str:
    """Text with line ends and tabs as glyphs, safe to show."""
    return visible(text).replace("\n", "⏎").replace("\t", "→")


def fit_short(text: str, most: int) -> str:
    """Text cut to a width in cells, and no wider than it is."""
    return fit(text, min(cell_len(text), most))


def end_of(text: str, width: int) -> str:
    """The end of a text on one line, in at most so many cells."""
    line = on_one_line(text[-4 * width - 4 :])
    cut = cell_len(line) > width or len(text) > 4 * width + 4
    while cell_len(line) > max(width - cut, 0):
        line = line[1:]
    return f"…{line}" if cut and width else line
