"""Branching: the prompt of a run that leaves another one at a token."""

from __future__ import annotations

from typing import NamedTuple

from workbench.domain.choice import Alternative, Choice
from workbench.domain.errors import BadValueError
from workbench.domain.prompt import TextPrompt, TokensPrompt, single_prompts
from workbench.domain.run import Parent, Run


class Branch(NamedTuple):
    """What a branch sends, and where it comes from."""

    prompt: TextPrompt | TokensPrompt
    parent: Parent


def prompt_of_choice(run: Run, choice: Choice) -> TextPrompt | TokensPrompt:
    """The one prompt that a choice answers; choices count as prompt_number * n + choice_number."""
    prompts = single_prompts(run.request.prompt)
    each = max(int(run.request.parameters.number("n", 1)), 1)
    return prompts[min(choice.index // each, len(prompts) - 1)]


def branch_at(run: Run, choice: Choice, position: int, alternative: Alternative) -> Branch:
    """A branch with an alternative in the place of a token, for every kind of prompt.

    Raises BadValueError where the prompt is token ids and an id is unknown, or where it is text and the
    alternative's bytes are none.
    """
    parent = Parent(run.id, choice.index, position, alternative.text)
    return Branch(_prefix(run, choice, position, alternative), parent)


def continue_after(run: Run, choice: Choice) -> Branch:
    """A branch that goes on where a choice ended.

    Raises BadValueError where the prompt is token ids and an id is unknown.
    """
    parent = Parent(run.id, choice.index, len(choice), kind="continue")
    return Branch(_prefix(run, choice, len(choice), None), parent)


def _prefix(
    run: Run, choice: Choice, position: int, alternative: Alternative | None
) -> TextPrompt | TokensPrompt:
    # An echoed prompt is part of the choice's text already.
    first = choice.echoed
    match prompt_of_choice(run, choice):
        case TextPrompt(text):
            if alternative is not None and alternative.raw is not None:
                raise BadValueError(
                    "This alternative is a part of a character",
                    hint="A text prompt holds whole characters only: choose another alternative.",
                    field="prompt",
                )
            shared = "".join(choice.texts(first, position))
            return TextPrompt(text + shared + (alternative.text if alternative else ""))
        case TokensPrompt(ids):
            more = [choice.id_of(index) for index in range(first, position)]
            if alternative is not None:
                more.append(alternative.id)
            known = [one for one in more if one is not None]
            if len(known) < len(more):
                raise BadValueError(
                    "The endpoint did not say the tokens' ids, so a prompt of token ids cannot go on",
                    hint="Send the prompt as text to branch or continue.",
                    field="prompt",
                )
            return TokensPrompt((*ids, *known))
