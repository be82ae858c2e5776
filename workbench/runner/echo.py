"""Echoed prompts: the tokens of a choice that repeat the prompt, and prompt tokens reported separately."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import isnan

from workbench.client.alignment import align
from workbench.client.events import PromptTokens
from workbench.domain.choice import Choice, ReceivedToken
from workbench.domain.json_values import JsonValue
from workbench.domain.prompt import TextPrompt, TokensPrompt, single_prompts
from workbench.domain.run import Run

ECHO: Mapping[str, JsonValue] = {"echo": True}
"""Request field that makes a completion begin with its prompt."""
NO_PROMPT_LOGPROBS = "The endpoint returned no logprobs of the prompt"
NEEDS_ECHO = (
    "Scoring needs an endpoint that answers echo: true together with logprobs, "
    "as `local`, `workbench serve` and vLLM do. Where only /tokenize answers, one-token requests can score "
    "a text instead (Score by one-token requests, or `workbench score --probe`)."
)
_REFUSED = (400, 404, 422, 501)


def explain_missing_echo(run: Run) -> None:
    """Explain in a finished run that its prompt's logprobs were requested but not returned, and why."""
    parameters = run.request.parameters
    if not parameters.echoes or parameters.get("logprobs") is None:
        return
    if (error := run.error) is not None:
        if error.status in _REFUSED and "echo" in f"{error.title} {error.message}".lower():
            run.error = replace(error, hint=NEEDS_ECHO)
    elif all(all(map(isnan, choice.logprobs[: choice.echoed])) for choice in run.choices.values()):
        run.note(f"{NO_PROMPT_LOGPROBS}. {NEEDS_ECHO}")


def mark_prompts(run: Run, reported: Iterable[PromptTokens]) -> None:
    """Set how many leading tokens of each choice repeat the prompt, inserting those `reported` separately."""
    prompts = single_prompts(run.request.prompt)
    each = max(run.request.choices // len(prompts), 1)
    by_choice = {echo.choice: echo.tokens for echo in reported if echo.choice is not None}
    by_prompt = {echo.prompt: echo.tokens for echo in reported if echo.choice is None}
    for index, choice in run.choices.items():
        number = min(index // each, len(prompts) - 1)
        prompt = prompts[number]
        if run.request.parameters.echoes:
            _mark(choice, prompt)
        tokens = by_choice.get(index) or by_prompt.get(number)
        if tokens and not choice.echoed:
            _put_before(choice, prompt, tokens)


def _mark(choice: Choice, prompt: TextPrompt | TokensPrompt) -> None:
    match prompt:
        case TextPrompt(text) if text and choice.text.startswith(text):
            choice.echoed = _echoed(choice, len(text))
        case TokensPrompt(ids) if len(choice) >= len(ids) and choice.logprob_of(0) is None:
            # The first token of an echo has no logprob. Each entry is one token, so the ids are enough.
            choice.echoed = len(ids)
        case _:
            pass


def _echoed(choice: Choice, length: int) -> int:
    """Count the tokens within the first `length` characters; split plain text that crosses the boundary."""
    last = choice.token_at(length - 1)
    start, text = choice.start_of(last), choice.text_of(last)
    if start + len(text) <= length:
        return last + 1
    if choice.logprob_of(last) is not None or choice.alternatives_of(last):
        return last
    tokens = _received(choice)
    tokens[last : last + 1] = [ReceivedToken(text[: length - start]), ReceivedToken(text[length - start :])]
    choice.replace(tokens, [*choice.at[: last + 1], *choice.at[last:]])
    return last + 1


def _put_before(choice: Choice, prompt: TextPrompt | TokensPrompt, reported: Sequence[ReceivedToken]) -> None:
    """Insert the prompt's tokens before the choice's, as in an echo, at the time of its first token."""
    match prompt:
        case TextPrompt(text):
            before = _aligned(text, reported)
        case TokensPrompt(ids):
            before = list(reported)
            if len(ids) == len(reported):
                before = [token._replace(id=id) for token, id in zip(reported, ids, strict=True)]
    first = choice.at[0] if len(choice) else 0.0
    choice.replace([*before, *_received(choice)], [*([first] * len(before)), *choice.at])
    choice.echoed = len(before)


def _aligned(text: str, reported: Sequence[ReceivedToken]) -> list[ReceivedToken]:
    """Align the reported tokens with the prompt's text; the first often has only an id."""
    first, *others = reported
    is_unknown = not first.text and first.raw is None
    aligned = align(text, others if is_unknown else reported).tokens
    if is_unknown and aligned and aligned[0].logprob is None:
        aligned[0] = aligned[0]._replace(id=first.id)
    return aligned


def _received(choice: Choice) -> list[ReceivedToken]:
    return list(map(choice.received, range(len(choice))))
