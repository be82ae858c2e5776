"""Whether an answer came out the same again, and where not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.domain.choice import Choice, Token
from workbench.domain.comparison import margin
from workbench.domain.display import percent
from workbench.domain.run import Run


@dataclass(frozen=True, slots=True)
class ChoiceCheck:
    """One choice held against the same choice of an earlier run."""

    index: int
    equal: int
    """Leading tokens that are equal, by text."""
    recorded_length: int
    again_length: int
    recorded: Token | None = None
    """The recorded token at the first divergence; None where it had ended, or nothing diverged."""
    again: Token | None = None

    @property
    def identical(self) -> bool:
        """Whether nothing differs."""
        return self.equal == self.recorded_length == self.again_length

    def describe(self) -> str:
        """One line: `identical 110/110`, or where they part and how close the race was."""
        if self.identical:
            return f"identical {self.equal}/{self.recorded_length}"
        what = (
            f"differs at token {self.equal + 1}: {_shown(self.recorded)} recorded, {_shown(self.again)} again"
        )
        close = margin(self.recorded) if self.recorded is not None else None
        race = f"; the two likeliest were {percent(close)} apart" if close is not None else ""
        return f"{self.equal}/{self.recorded_length} equal, {what}{race}"


@dataclass(frozen=True, slots=True)
class RunCheck:
    """A run held against the same request sent again."""

    run: str
    """Id of the recorded run."""
    choices: tuple[ChoiceCheck, ...]
    error: str = ""
    """Why there is nothing to compare, if so."""

    @property
    def identical(self) -> bool:
        """Whether every choice came out the same."""
        return not self.error and all(choice.identical for choice in self.choices)


def check_choice(recorded: Choice, again: Choice) -> ChoiceCheck:
    """Hold one choice against another, token by token by text.

    Where the endpoint cut its pieces otherwise but the text is the same, it is identical all the same:
    pieces without logprobs are the network's, not the model's.
    """
    shared = min(len(recorded), len(again))
    equal = next(
        (place for place in range(shared) if recorded.text_of(place) != again.text_of(place)), shared
    )
    if recorded.text == again.text:
        return ChoiceCheck(recorded.index, len(recorded), len(recorded), len(recorded))
    return ChoiceCheck(
        recorded.index,
        equal,
        len(recorded),
        len(again),
        recorded.token(equal) if equal < len(recorded) else None,
        again.token(equal) if equal < len(again) else None,
    )


def check_run(recorded: Run, again: Run) -> RunCheck:
    """Hold a run against the same request sent again; a choice that did not come again differs."""
    if again.error is not None:
        return RunCheck(recorded.id, (), f"{again.error.title}. {again.error.message}".strip())
    indexes = sorted(recorded.choices.keys() | again.choices.keys())
    return RunCheck(
        recorded.id,
        tuple(
            check_choice(
                recorded.choices.get(index, Choice(index)),
                again.choices.get(index, Choice(index)),
            )
            for index in indexes
        ),
    )


def describe_repeats(runs: Sequence[Run]) -> str:
    """Whether one request sent several times gave one answer, and where it first did not."""
    if len(runs) < 2:
        return "one run says nothing of repetition"
    checks = [check_run(runs[0], other) for other in runs[1:]]
    same = 1 + sum(check.identical for check in checks)
    if same == len(runs):
        return f"repeats itself: {len(runs)} of {len(runs)} runs are identical"
    worst = next(check for check in checks if not check.identical)
    detail = worst.error or next(one.describe() for one in worst.choices if not one.identical)
    return f"does not repeat itself: {same} of {len(runs)} runs are equal to the first; {detail}"


def _shown(token: Token | None) -> str:
    return "the end" if token is None else repr(token.text)
