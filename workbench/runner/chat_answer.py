"""Answers to a conversation: the run that each is to be, and the turn that it will be kept as."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from workbench.domain.conversation import Role
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.request import Request
from workbench.domain.run import Parent, Run
from workbench.domain.turns import Chat, Turn
from workbench.domain.variables import find_variables, unfilled
from workbench.runner.chat_prompter import Prompter
from workbench.runner.chat_request import ChatRequest, answer_text


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """What is to be answered: a path of turns, and how the answer begins."""

    path: tuple[Turn, ...]
    prefill: str = ""
    parent: Parent | None = None
    """The run that the answer branches from or continues, where it does."""


@dataclass(frozen=True, slots=True)
class Answering:
    """A run that is to be sent, and the turn that it will be the answer of."""

    run: Run
    turn: Turn
    made: ChatRequest


def without_value(chat: Chat, asked: AnswerRequest, variables: Mapping[str, str]) -> list[str]:
    """The variables without a value in what a person wrote of a prompt."""
    written = [chat.system or "", *(turn.text for turn in asked.path if not turn.run), asked.prefill]
    names = dict.fromkeys(name for text in written for name in find_variables(text))
    return [name for name in names if name not in variables]


async def prompt_of(
    prompter: Prompter,
    chat: Chat,
    asked: AnswerRequest,
    variables: Mapping[str, str],
    place: tuple[Endpoint, Request],
    *,
    sending: bool,
) -> ChatRequest:
    """What would be sent; `place` is where to, with the model and parameters to send.

    Raises EngineError, EndpointError, StorageError, TemplateError, or BadValueError where it does not fit
    the context.
    """
    endpoint, draft = place
    conversation = chat.conversation(asked.path, variables, asked.prefill)
    return await prompter.request(
        chat, conversation, endpoint, draft.model, draft.parameters, sending=sending
    )


async def begin_answer(
    prompter: Prompter,
    chat: Chat,
    asked: AnswerRequest,
    variables: Mapping[str, str],
    place: tuple[Endpoint, Request],
) -> Answering:
    """The run of an answer, ready to be sent, and its turn, which has only the prefill yet.

    Raises what `prompt_of` raises, and BadValueError where there is nothing to answer, or where variables
    have values but for some.
    """
    if not asked.path:
        raise BadValueError("No message to answer", hint="Type a message first.")
    if variables and (names := without_value(chat, asked, variables)):
        raise unfilled(names)
    made = await prompt_of(prompter, chat, asked, variables, place, sending=True)
    run = Run(made.request, place[0].name, turn=asked.path[-1].id, parent=asked.parent)
    for note in made.notes:
        run.note(note)
    return Answering(run, Turn(Role.ASSISTANT, asked.prefill, run=run.id, parent=asked.path[-1].id), made)


def answered(chat: Chat, run: Run) -> Chat:
    """The conversation with the text of an answer whose run is over."""
    turn = next((one for one in chat.turns.all if one.run == run.id), None)
    if turn is None:
        return chat
    answer = answer_text(run, turn.choice)
    return replace(chat, turns=chat.turns.changed(replace(turn, text=turn.text + answer)))


def continuing(path: Sequence[Turn], run: Run | None) -> AnswerRequest:
    """What lets the last turn, an answer, go on where it ended; `run` is the one that gave it, if any."""
    turn = path[-1]
    parent = None
    if run is not None:
        parent = Parent(run.id, turn.choice, len(run.choice(turn.choice)), kind="continue")
    return AnswerRequest(tuple(path[:-1]), turn.text, parent)
