"""Runs as items of a list to choose from."""

from __future__ import annotations

from workbench.domain.display import one_line
from workbench.domain.prompt import prompt_to_editor
from workbench.domain.run import Run
from workbench.tui.popups.picker import Item
from workbench.workspace.run_state import figures_of

_BEGINNING = 40
"""Characters of an answer that an item shows."""
_SEARCHED = 1_000
"""Characters of prompt and answer each in which an item is found."""


def run_item(run: Run, title: str, settings: str = "") -> Item:
    """A run under a title: the beginning of its answer, its figures, endpoint and model.

    `settings` stands in its preset's place.
    """
    choice = next(iter(run.ordered), None)
    # A token is hardly ever shorter than a character.
    answer = "" if choice is None else "".join(choice.texts(choice.echoed, choice.echoed + _SEARCHED))
    parts = (
        one_line(settings or run.preset, 40) or "—",
        one_line(answer, _BEGINNING) or "no text",
        figures_of(run),
        f"{one_line(run.endpoint, 24)} · {one_line(run.model or run.request.model, 24)}",
    )
    searched = (
        *(run.preset, run.endpoint, run.model),
        prompt_to_editor(run.request.prompt)[-_SEARCHED:],
        answer[:_SEARCHED],
    )
    return Item(run.id, title, " · ".join(parts), text=" ".join(searched))
