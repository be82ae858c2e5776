"""Rerun of a recorded run: the two answers side by side, and the verdict so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.domain.display import one_line
from workbench.domain.endpoint import Endpoint
from workbench.domain.rerun_check import ChoiceCheck, RunCheck, check_run
from workbench.domain.run import Parent, Run
from workbench.runner.compare_plan import Column
from workbench.workspace.comparison import Comparison

if TYPE_CHECKING:
    from workbench.workspace.workspace import Workspace


def again(recorded: Run) -> Run:
    """Return a new run of the same request, with the recorded run as its parent."""
    return Run(
        recorded.request,
        recorded.endpoint,
        parent=Parent(recorded.id, kind="rerun"),
        preset=recorded.preset,
        split=recorded.split,
        added=recorded.added,
    )


class Rerun(Comparison):
    """Compares a recorded run with a new run of the same request."""

    def __init__(self, workspace: Workspace, endpoint: Endpoint, recorded: Run) -> None:
        self.recorded, self.again = recorded, again(recorded)
        request = recorded.request
        columns = [Column(title, endpoint, request.model, recorded.settings) for title in _TITLES]
        super().__init__(workspace, columns, [recorded, self.again])
        self._check: RunCheck | None = None

    @property
    def check(self) -> RunCheck | None:
        """Comparison of the two answers; None while the new one streams."""
        if self._check is None and not self.again.is_running:
            self._check = check_run(self.recorded, self.again)
        return self._check

    @property
    def summary(self) -> str:
        """The verdict so far."""
        if (check := self.check) is None:
            shared, divergence = self.agreement()
            first = self.recorded.ordered[0] if self.recorded.choices else None
            if divergence is None:
                return f"identical so far {shared}/{0 if first is None else len(first)}"
            return f"diverges at token {divergence.position + 1}"
        if check.error:
            return "✗ not compared"
        if check.identical:
            equal = sum(choice.equal for choice in check.choices)
            return f"● identical {equal}/{equal}"
        if (different := next((choice for choice in check.choices if choice.differs), None)) is not None:
            return f"≠ diverges at token {different.equal + 1}"
        cut = next(choice for choice in check.choices if choice.cut)
        if not min(cut.recorded_length, cut.again_length):
            return "■ nothing to compare"
        return f"■ identical so far {cut.equal}/{cut.recorded_length}"

    @property
    def titles(self) -> tuple[str, ...]:
        """The names of the columns."""
        return _TITLES[: len(self.columns)]

    @property
    def remarks(self) -> list[str]:
        """The full verdict, and possible reasons for a difference."""
        notes = list(map(one_line, self._verdict()))
        if self.check is not None and any(choice.differs for choice in self.check.choices):
            notes += self._reasons()
        return list(dict.fromkeys([*notes, *(f"again: {one_line(note)}" for note in self.again.notes)]))

    def _verdict(self) -> list[str]:
        if (check := self.check) is not None:
            several = len(check.choices) > 1
            return [check.error] * bool(check.error) + [
                f"choice {choice.index + 1}: {choice.describe()}" if several else choice.describe()
                for choice in check.choices
            ]
        divergence = self.agreement()[1]
        if divergence is None or len(divergence.tokens) != len(_TITLES):
            return []
        was, now = divergence.tokens
        position = divergence.position
        lengths = len(self.recorded.ordered[0]), len(self.again.ordered[0])
        return [ChoiceCheck(0, position, *lengths, was, now).describe()]

    def _reasons(self) -> list[str]:
        parameters, reasons = self.recorded.request.parameters, []
        if parameters.get("temperature") != 0 and parameters.get("seed") is None:
            reasons.append("it has no seed, so the answer may differ")
        if self.recorded.model and self.again.model and self.recorded.model != self.again.model:
            reasons.append(
                f"answered by {one_line(self.recorded.model)}, then by {one_line(self.again.model)}"
            )
        if self.recorded.error is not None or self.again.error is not None:
            reasons.append("one of the two did not finish")
        return reasons


_TITLES = ("recorded", "again")
