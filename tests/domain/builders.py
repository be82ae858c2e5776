"""Choices and runs for tests, made from a few words."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from workbench.domain.choice import Alternative, Choice, ReceivedToken
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Outcome, Run


def token_of(text: str, probability: float | None = None, **others: float) -> ReceivedToken:
    """A token with its probability and those of its alternatives."""
    own = () if probability is None else (Alternative(text, log(probability)),)
    listed = tuple(Alternative(other, log(mass)) for other, mass in others.items())
    return ReceivedToken(text, None if probability is None else log(probability), own + listed)


def choice_of(
    tokens: Sequence[ReceivedToken | str], index: int = 0, finish_reason: str | None = "stop"
) -> Choice:
    """A choice of tokens or plain texts, one arriving every tenth of a second."""
    choice = Choice(index)
    for number, token in enumerate(tokens, 1):
        choice.append(token if isinstance(token, ReceivedToken) else ReceivedToken(token), number / 10)
    choice.finish_reason = finish_reason
    return choice


def run_of(*choices: Choice, prompt: str = "Once") -> Run:
    """A complete run that holds choices."""
    run = Run(Request(TextPrompt(prompt)), "test")
    run.choices = {choice.index: choice for choice in choices}
    run.outcome = Outcome.COMPLETE
    return run
