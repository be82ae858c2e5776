"""Whether an answer came out the same again, and where not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.domain.choice import Choice, Token
from workbench.domain.display import percent, plural
from workbench.domain.divergence import common_prefix, margin
from workbench.domain.run import Outcome, Run


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
    cut: str = ""
    """Which of the two was cut short while all was equal, as `the re-run was stopped`; empty if neither."""

    @property
    def identical(self) -> bool:
        """Whether both came to their ends, and nothing differs."""
        return not self.cut and self.equal == self.recorded_length == self.again_length

    @property
    def differs(self) -> bool:
        """Whether a difference is known; nothing is known of what a run that was cut short left out."""
        return not self.cut and not self.identical

    def describe(self) -> str:
        """One line: `identical 110/110`, or where they diverge and how close the race was."""
        if self.identical:
            return f"identical {self.equal}/{self.recorded_length}"
        if self.cut and not min(self.recorded_length, self.again_length):
            return f"nothing to compare: {self.cut} before its first token"
        if self.cut:
            return f"identical for {plural(self.equal, 'token')}, then {self.cut}"
        what = (
            f"diverges at token {self.equal + 1}: {_shown(self.recorded)} recorded, "
            f"{_shown(self.again)} again"
        )
        close = margin(self.recorded) if self.recorded is not None else None
        race = f"; the two likeliest were {percent(close)} apart" if close is not None else ""
        return f"{self.equal}/{self.recorded_length} equal, {what}{race}"


@dataclass(frozen=True, slots=True)
class RunCheck:
    """A run compared with the same request sent again."""

    run: str
    """Id of the recorded run."""
    choices: tuple[ChoiceCheck, ...]
    error: str = ""
    """Why there is nothing to compare, if so."""

    @property
    def identical(self) -> bool:
        """Whether every choice came out the same."""
        return not self.error and all(choice.identical for choice in self.choices)


def check_choice(recorded: Choice, again: Choice, cut: tuple[str, str] = ("", "")) -> ChoiceCheck:
    """Compare a choice with the same choice of an earlier run, token by token by text.

    The same text in other chunks is identical: chunks without logprobs are the network's, not the model's.
    `cut` says of each whether, and how, it was cut short.
    """
    equal = common_prefix((recorded, again))
    if recorded.text == again.text:
        return ChoiceCheck(recorded.index, len(recorded), len(recorded), len(recorded))
    shorter, longer, why = (
        (recorded, again, cut[0]) if recorded.length < again.length else (again, recorded, cut[1])
    )
    if why and longer.text.startswith(shorter.text):
        return ChoiceCheck(recorded.index, equal, len(recorded), len(again), cut=why)
    return ChoiceCheck(
        recorded.index,
        equal,
        len(recorded),
        len(again),
        recorded.token(equal) if equal < len(recorded) else None,
        again.token(equal) if equal < len(again) else None,
    )


def check_run(recorded: Run, again: Run) -> RunCheck:
    """Compare a run with the same request sent again; a choice that a whole run lacks differs."""
    if again.error is not None:
        return RunCheck(recorded.id, (), f"{again.error.title}. {again.error.message}".strip())
    if not (indexes := sorted(recorded.choices.keys() | again.choices.keys())):
        return RunCheck(recorded.id, (), "neither run has an answer")
    return RunCheck(
        recorded.id,
        tuple(
            check_choice(
                recorded.choices.get(index, Choice(index)),
                again.choices.get(index, Choice(index)),
                (_cut_short(recorded, index, "recorded run"), _cut_short(again, index, "re-run")),
            )
            for index in indexes
        ),
    )


def _cut_short(run: Run, index: int, name: str) -> str:
    """How a run ended before the end of a choice; empty where the choice is whole."""
    choice = run.choices.get(index)
    if choice is not None and choice.finish_reason is not None:
        return ""
    match run.outcome:
        case Outcome.STOPPED:
            return f"the {name} was stopped"
        case Outcome.TRUNCATED | Outcome.ERROR:
            return f"the {name} was interrupted"
    return ""


def describe_repeats(runs: Sequence[Run]) -> str:
    """Whether one request sent several times gave one answer, and where it first did not."""
    if len(runs) < 2:
        return "one run cannot show reproducibility"
    checks = [check_run(runs[0], other) for other in runs[1:]]
    same = 1 + sum(check.identical for check in checks)
    if same == len(runs):
        return f"reproducible: {len(runs)} of {len(runs)} identical"
    counted = f"{same} of {len(runs)} identical to the first"
    choices = [choice for check in checks for choice in check.choices]
    if (different := next((choice for choice in choices if choice.differs), None)) is not None:
        return f"not reproducible: {counted}; {different.describe()}"
    unknown = [check.error for check in checks if check.error]
    unknown += [choice.describe() for choice in choices if choice.cut]
    return f"{counted}; {unknown[0]}"


def _shown(token: Token | None) -> str:
    return "the end" if token is None else repr(token.text)
