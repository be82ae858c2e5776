"""Options for conversations and variables."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from workbench.domain.conversation import Conversation, Message, conversation_from_json
from workbench.domain.errors import BadValueError
from workbench.domain.prompt import Prompt, TextPrompt, TextsPrompt
from workbench.domain.variables import fill


def add_chat_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that give a conversation, its template and variables."""
    group = parser.add_argument_group("conversation")
    group.add_argument(
        "--chat",
        metavar="FILE",
        help='turns as JSON: [{"role": "user", "content": "…"}, …]; answers the last',
    )
    group.add_argument(
        "--template",
        default="",
        metavar="NAME|FILE",
        help="chatml, llama3, mistral, gemma, alpaca, vicuna, plain, or a chat template's file; "
        "without it the endpoint's own",
    )
    group.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="fill {{NAME}} in prompts; repeatable",
    )


def read_conversation(name: str) -> Conversation:
    """The conversation in a JSON file. Raises BadValueError naming the file or the turn at fault."""
    try:
        return conversation_from_json(json.loads(Path(name).read_bytes()))
    except OSError as error:
        raise BadValueError(f"--chat {name}: {error.strerror}", field="chat") from None
    except ValueError as error:
        raise BadValueError(f"--chat {name}: is no JSON: {error}", field="chat") from None


def read_variables(pairs: list[str]) -> dict[str, str]:
    """The variables' values. Raises BadValueError for what is not NAME=VALUE."""
    values: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise BadValueError(f"--set {pair}: is not NAME=VALUE", field="set")
        values[name] = value
    return values


def fill_prompt(prompt: Prompt, values: dict[str, str]) -> Prompt:
    """A prompt with its variables filled in; token ids have none."""
    match prompt:
        case TextPrompt(text):
            return TextPrompt(_filled(text, values))
        case TextsPrompt(texts):
            return TextsPrompt(tuple(_filled(text, values) for text in texts))
        case _:
            return prompt


def fill_conversation(conversation: Conversation, values: dict[str, str]) -> Conversation:
    """A conversation with the variables of all its turns filled in."""
    return Conversation(
        tuple(Message(message.role, _filled(message.text, values)) for message in conversation.messages),
        None if conversation.system is None else _filled(conversation.system, values),
        _filled(conversation.prefill, values),
    )


def _filled(text: str, values: dict[str, str]) -> str:
    """Raises BadValueError naming variables without a value, once any value is given."""
    if not values:
        return text
    filled = fill(text, values)
    if filled.unknown:
        names = ", ".join(filled.unknown)
        raise BadValueError(f"no value for {names}", hint="Give one with --set NAME=VALUE.", field="set")
    return filled.text
