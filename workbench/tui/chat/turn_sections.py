"""Convert the turns of a conversation to the sections of a transcript."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from workbench.domain.colour_modes import fitted
from workbench.domain.conversation import Turn
from workbench.domain.display import one_line, visible
from workbench.domain.run import Outcome, Run
from workbench.runner.chat_request import answer_text
from workbench.tui.tokens.transcript import Emphasis, Section
from workbench.workspace.chat_session import ChatSession
from workbench.workspace.run_state import figures_of

_FOLDED = 48
"""Characters shown of a folded turn."""

_GLYPHS = {"user": "› ", "assistant": "◆ "}
"""Glyphs that show the role without colours."""


class _State(NamedTuple):
    """Everything that the sections of a turn depend on."""

    number: int
    """The turn's number in its branch, from 1."""
    turn: Turn
    branch: tuple[int, int] | None
    """The number of the branch and of all branches at this turn; None if there is only one."""
    is_current: bool
    is_folded: bool
    is_left_out: bool
    outcomes: tuple[Outcome | None, ...]
    differs: str
    """How the answer's parameters and endpoint differ from those of the answer before it."""


class TurnSections:
    """Creates the sections of turns, and keeps them until a turn changes: figures take time to compute."""

    def __init__(self, chat: ChatSession) -> None:
        self._chat = chat
        self._made: dict[str, tuple[_State, tuple[Section, ...]]] = {}
        self._differs: dict[tuple[str, str], str] = {}

    def of(self, current: int | None, folded: Collection[str], left_out: Collection[int]) -> list[Section]:
        """Return the sections of the turns shown.

        `current` is the index of the current turn; `folded` has the ids of folded turns, and `left_out` the
        indices of turns that the next prompt leaves out.
        """
        branches = self._chat.chat.turns.branch_counts()
        sections: list[Section] = []
        before: Run | None = None
        for index, turn in enumerate(self._chat.path):
            runs = self._chat.runs_of(turn)
            state = _State(
                index + 1,
                turn,
                branches.get(turn.id),
                index == current,
                turn.id in folded,
                index in left_out,
                tuple(run.outcome for run in runs),
                self._difference(before, runs[-1]) if runs else "",
            )
            before = runs[-1] if runs else before
            made = self._made.get(turn.id)
            if made is None or made[0] != state:
                made = self._made[turn.id] = state, tuple(_sections(state, runs))
            sections += made[1]
        return sections

    def marked(self, turn: Turn, *, is_current: bool) -> tuple[Section, ...]:
        """Return the sections of a turn, marked as the current one or not; none if `of` did not return it."""
        if (made := self._made.get(turn.id)) is None:
            return ()
        state = made[0]._replace(is_current=is_current)
        sections = tuple(_sections(state, self._chat.runs_of(turn)))
        self._made[turn.id] = state, sections
        return sections

    def _difference(self, before: Run | None, run: Run) -> str:
        if before is None:
            return ""
        key = before.id, run.id
        if key not in self._differs:
            changes = before.request.parameters.changes_to(run.request.parameters)
            differences = [one_line(str(change), 60) for change in changes]
            differences += [f"@ {one_line(run.endpoint, 40)}"] * (before.endpoint != run.endpoint)
            self._differs[key] = " · ".join(differences)
        return self._differs[key]


def key_of(turn: Turn, part: int = 0) -> str:
    """Return the key of a turn's section; an answer has a section for each of its runs."""
    return f"{turn.id}:{part}"


def _sections(state: _State, runs: list[Run]) -> list[Section]:
    turn, dimmed = state.turn, state.is_left_out
    title = _title(state, runs)
    emphasis: Emphasis = "current" if state.is_current else "strong" if turn.role == "user" else "none"
    if state.is_folded:
        title = f"{title}  {one_line(turn.text, _FOLDED)}"
        return [Section(key_of(turn), title, dimmed=dimmed, emphasis=emphasis)]
    if not runs:
        return [Section(key_of(turn), title, turn.text, dimmed=dimmed, emphasis=emphasis)]
    # The text before the runs' own output: a prefill, or the part shared with another branch.
    choices = [run.choice(turn.choice if run is runs[-1] else 0) for run in runs]
    prefix = turn.text
    for run, choice in zip(reversed(runs), reversed(choices), strict=True):
        if not run.is_running:
            prefix = prefix.removesuffix(answer_text(run, choice.index))
    return [
        Section(
            key_of(turn, part),
            title if part == 0 else "   continued",
            prefix if part == 0 else "",
            choice,
            _figures(run),
            dimmed,
            scale=fitted(run.request.parameters),
            emphasis=emphasis if part == 0 else "none",
        )
        for part, (run, choice) in enumerate(zip(runs, choices, strict=True))
    ]


def _title(state: _State, runs: list[Run]) -> str:
    mark = "▸─" if state.is_current else "──"
    glyph = _GLYPHS.get(state.turn.role, "")
    parts = [f"{mark} {state.number} {glyph}{one_line(state.turn.role, 20)}"]
    if state.branch is not None:
        parts.append(f"branch {state.branch[0]}/{state.branch[1]}")
    if runs and not state.is_folded:
        newest = runs[-1]
        model = newest.model or newest.request.model
        parts += [one_line(model, 40)] * bool(model)
        parts += [f"preset {one_line(newest.preset, 30)}"] * bool(newest.preset)
        parts += [state.differs] * bool(state.differs)
    elif not runs and state.turn.role == "assistant":
        parts.append("edited")
    if state.is_left_out:
        parts.append("left out of the next prompt")
    return " · ".join(parts)


def _figures(run: Run) -> str:
    if run.is_running:
        return ""
    if run.outcome is Outcome.ERROR and run.error is not None:
        return visible(f"✗ {run.error.title} {run.error.message}".strip())
    return " · ".join([figures_of(run), *(visible(one_line(note, 120)) for note in run.notes)])
