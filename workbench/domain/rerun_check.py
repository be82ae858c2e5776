"""Compare a run with a re-run of the same request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.domain.choice import Choice, Token
from workbench.domain.display import percent, plural
from workbench.domain.divergence import common_prefix, margin
from workbench.domain.run import Outcome, Run


@dataclass(frozen=True, slots=True)
class ChoiceCheck:
    """The comparison of a choice with the same choice of a re-run."""

    index: int
    equal: int
    """Number of equal leading tokens, by text."""
    recorded_length: int
    again_length: int
    recorded: Token | None = None
    """The recorded token at the divergence; None at the end of the choice or without a divergence."""
    again: Token | None = None
    cut: str = ""
    """Which of the two was cut short before any difference (`the re-run was stopped`), or empty."""

    @property
    def identical(self) -> bool:
        """Whether both are complete and equal."""
        return not self.cut and self.equal == self.recorded_length == self.again_length

    @property
    def differs(self) -> bool:
        """Whether the choices differ; choices equal up to where one was cut short do not."""
        return not self.cut and not self.identical

    def describe(self) -> str:
        """Return one line: `identical 110/110`, or the divergence and the margin of the top two tokens."""
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
    """The comparison of a run with a re-run."""

    run: str
    """Id of the recorded run."""
    choices: tuple[ChoiceCheck, ...]
    error: str = ""
    """Why there is nothing to compare; otherwise empty."""

    @property
    def identical(self) -> bool:
        """Whether all choices are identical."""
        return not self.error and all(choice.identical for choice in self.choices)


def check_choice(recorded: Choice, again: Choice, cut: tuple[str, str] = ("", "")) -> ChoiceCheck:
    """Compare a choice with the same choice of a re-run, token by token, by text.

    The same text split into different chunks is identical: without logprobs, chunks are not tokens.
    `cut` describes for each of the two how it was cut short, or is empty.
    """
    equal = common_prefix((recorded, again))
    if recorded.text == again.text:
        return ChoiceCheck(recorded.index, len(recorded), len(recorded), len(recorded))
    shorter, longer, why = (
        (recorded, again, cut[0]) if recorded.length < again.length else (again, recorded, cut[1])
    )
    if why and longer.text.startswith(shorter.text):
        return ChoiceCheck(recorded.index, equal, len(recorded), len(again), cut=why)
    was, now = (choice.token(equal) if equal < len(choice) else None for choice in (recorded, again))
    return ChoiceCheck(recorded.index, equal, len(recorded), len(again), was, now)


def check_run(recorded: Run, again: Run) -> RunCheck:
    """Compare a run with a re-run; a choice missing from a complete run counts as a difference."""
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
    """Describe how a run ended before the end of a choice; empty if the choice is complete."""
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
    """Describe whether repeated runs of a request gave identical answers, or how they differ."""
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
