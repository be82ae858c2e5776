"""Options for conversations and variables."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from workbench.cli.parsing import file_name, naming_files
from workbench.domain.conversation import (
    Chat,
    Conversation,
    Prefixes,
    Role,
    Turn,
    WhenFull,
    conversation_from_json,
)
from workbench.domain.display import unescaped
from workbench.domain.errors import BadValueError
from workbench.domain.json_values import parse_json
from workbench.storage.variable_files import load_variables

_PREFIXES = ("user", "assistant", "system", "separator")


def add_chat_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for a conversation, its template, its context and variables."""
    group = parser.add_argument_group("conversation")
    group.add_argument(
        "--chat",
        type=file_name,
        metavar="FILE",
        help='turns as JSON: [{"role": "user", "content": "…"}, …]; replies to the last turn, or '
        "continues it if it is the assistant's",
    )
    group.add_argument(
        "--say", metavar="TEXT", help="the next turn of the conversation, of --chat or else of --session"
    )
    group.add_argument(
        "--template",
        metavar="NAME|FILE",
        help="chatml, llama3, mistral, gemma, alpaca, vicuna, plain, or a chat template's file (FILE:NAME of "
        "several); default: the session's, else the endpoint's own",
    )
    group.add_argument(
        "--prefix",
        action="append",
        default=[],
        metavar="ROLE=TEXT",
        help="before the turns of user, assistant or system under the plain template, or the separator "
        "between turns; \\n is a line's end",
    )
    group.add_argument(
        "--when-full",
        choices=[rule.value.replace(" ", "-") for rule in WhenFull],
        help="how to truncate when the prompt exceeds the context window",
    )
    group.add_argument(
        "--context",
        type=int,
        metavar="N",
        help="context window in tokens, prompt and completion together",
    )
    group.add_argument(
        "--var",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="fill {{NAME}} in prompts; repeatable",
    )
    group.add_argument("--vars", type=file_name, metavar="FILE", help="values of variables in TOML or JSON")


def read_conversation(name: str) -> Conversation:
    """Read a conversation from a JSON file. Raises BadValueError, which names the file or invalid turn."""
    try:
        return conversation_from_json(parse_json(Path(name).read_bytes()))
    except OSError as error:
        raise BadValueError(f"--chat {name}: {error.strerror}", field="chat") from None
    except ValueError as error:
        raise BadValueError(f"--chat {name}: is not JSON: {error}", field="chat") from None


def read_variables(pairs: list[str], file: str | None = None) -> dict[str, str]:
    """Return variables from a file and NAME=VALUE pairs, which win. Raises BadValueError."""
    with naming_files():
        values = dict(load_variables(Path(file).expanduser())) if file else {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise BadValueError(f"--var {pair}: is not NAME=VALUE", field="var")
        values[name] = value
    return values


def is_chat(arguments: argparse.Namespace) -> bool:
    """Whether the options request an answer to a conversation."""
    return bool(arguments.chat) or arguments.say is not None


def read_chat(arguments: argparse.Namespace, kept: Chat) -> tuple[Chat, str]:
    """Return the session's conversation updated by the options, and the prefill.

    Raises BadValueError, which names the invalid option or turn.
    """
    chat = kept._replace(
        template=kept.template if arguments.template is None else arguments.template,
        prefixes=_prefixes(arguments.prefix, kept.prefixes),
        context=arguments.context if arguments.context is not None else kept.context,
    )
    if arguments.context is not None and arguments.context < 1:
        raise BadValueError("--context must be at least 1", field="context")
    if arguments.when_full:
        chat = chat._replace(when_full=WhenFull(arguments.when_full.replace("-", " ")))
    prefill = ""
    if arguments.chat:
        conversation = read_conversation(arguments.chat)
        prefill = conversation.prefill
        system = chat.system if conversation.system is None else conversation.system
        chat = chat._replace(system=system, turns=chat.turns.saying(conversation.messages))
    if arguments.say is not None:
        turn = Turn(Role.USER, arguments.say, parent=chat.turns.last)
        chat = chat._replace(turns=chat.turns.with_turn(turn))
    return chat, prefill


def _prefixes(pairs: list[str], prefixes: Prefixes) -> Prefixes:
    for pair in pairs:
        role, equals, text = pair.partition("=")
        if not equals or role not in _PREFIXES:
            raise BadValueError(f"--prefix {pair}: is not ROLE=TEXT", f"Roles are {', '.join(_PREFIXES)}.")
        prefixes = replace(prefixes, **{role: unescaped(text)})
    return prefixes
