"""`workbench run`: complete a prompt without a screen."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import MutableMapping
from contextlib import aclosing
from dataclasses import dataclass, replace

from workbench.cli.arguments import (
    add_endpoint_options,
    add_parameter_options,
    add_prompt_options,
    explain,
    read_parameters,
    read_prompt,
)
from workbench.cli.chat import (
    add_chat_options,
    answer_request_of,
    is_chat,
    read_chat,
    read_variables,
)
from workbench.cli.confirm import add_yes_option, is_agreed
from workbench.cli.exit_status import ExitStatus
from workbench.cli.follow_run import follow, report, tell_status
from workbench.cli.parsing import file_name
from workbench.cli.sessions import open_for_writing
from workbench.cli.split_option import add_split_option, limits_of, split_of
from workbench.domain.endpoint import LOCAL, Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.prompt import TextPrompt, kind_of, prompt_to_editor
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.domain.session import Draft, Session
from workbench.domain.variables import fill_prompt
from workbench.runner.chat_answer import AnswerRequest, answered, begin_answer
from workbench.runner.chat_prompter import Prompter
from workbench.runner.connections import Connections
from workbench.storage.endpoint_list import endpoint_for, load_endpoints
from workbench.storage.folders import Folders
from workbench.workspace.costs import cost_of
from workbench.workspace.keeper import Keeper


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_prompt_options(parser)
    add_chat_options(parser)
    add_endpoint_options(parser)
    add_parameter_options(parser)
    add_split_option(parser)
    add_yes_option(parser)
    parser.add_argument(
        "--session", type=file_name, metavar="FILE", help="append the run to a session, created if missing"
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object at the end instead of the text"
    )


def run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Complete the prompt; returns the exit status."""
    environment = dict(os.environ)
    try:
        endpoint = find_endpoint(arguments)
        variables = read_variables(arguments.var, arguments.vars)
        prompt = TextPrompt("") if is_chat(arguments) else fill_prompt(read_prompt(arguments), variables)
        _refuse_mixed_prompts(arguments)
    except BadValueError as problem:
        parser.error(f"{problem.title}. {problem.hint}".strip())
    limits = limits_of(endpoint, split=arguments.split)
    parameters, problems = read_parameters(arguments, limits, endpoint.lenient)
    if problems:
        parser.print_usage(sys.stderr)
        for wrong in problems:
            print(f"{parser.prog}: error: {explain(wrong, limits)}", file=sys.stderr)
        return ExitStatus.BAD_ARGUMENTS
    request = Request(prompt, arguments.model or endpoint.model, parameters)
    try:
        split = split_of(request, endpoint, split=arguments.split)
    except BadValueError as problem:
        parser.error(problem.title)
    if not is_agreed(cost_of(endpoint, request, split), sure=arguments.yes):
        return ExitStatus.BAD_ARGUMENTS
    with open_for_writing(arguments.session) as keeper:
        if is_chat(arguments):
            session = keeper.session if keeper is not None else Session()
            session.variables = {**session.variables, **variables}
            try:
                session.chat = read_chat(arguments, session.chat)
            except BadValueError as problem:
                parser.error(f"{problem.title}. {problem.hint}".strip())
            talk = _Talk(session, answer_request_of(session.chat, arguments, session.runs), request)
            one = asyncio.run(_converse(talk, endpoint, environment, keeper, quiet=arguments.json))
        else:
            one = Run(request, endpoint.name, split=split)
            if keeper is not None:
                _begin_draft(keeper, request, endpoint)
            asyncio.run(_complete(one, endpoint, environment, keeper, quiet=arguments.json))
        # Before the session is closed: a disk that is full takes no answer away.
        return report(one, as_json=arguments.json)


def _begin_draft(keeper: Keeper, request: Request, endpoint: Endpoint) -> None:
    """Let a new session begin with the request as its draft, to go on with on the screen."""
    if not keeper.session.runs and keeper.session.draft == Draft():
        prompt = request.prompt
        text, kind = prompt_to_editor(prompt), kind_of(prompt)
        keeper.edited(Draft(endpoint.name, request.model, "", text, kind, request.parameters))


def _refuse_mixed_prompts(arguments: argparse.Namespace) -> None:
    """Raises BadValueError where a conversation and other prompts are given."""
    if is_chat(arguments) and (arguments.prompt or arguments.prompt_file or arguments.prompt_ids):
        raise BadValueError(
            "--chat and --say give the prompt; they cannot be mixed with other prompts", field="prompt"
        )
    if is_chat(arguments) and arguments.split:
        raise BadValueError("--split is for prompts: a conversation has one answer at a time")
    if arguments.say is not None and not (arguments.chat or arguments.session):
        raise BadValueError("--say needs a conversation to continue", hint="Name --session or --chat.")


def find_endpoint(arguments: argparse.Namespace) -> Endpoint:
    """The endpoint that the options name: a profile, or a bare URL."""
    loaded = load_endpoints(Folders.default(os.environ))
    return endpoint_for(arguments.endpoint or LOCAL, arguments.api_key_env, loaded)


@dataclass(frozen=True, slots=True)
class _Talk:
    """A session's conversation, what is to be answered, and what is sent but for the prompt."""

    session: Session
    asked: AnswerRequest
    draft: Request


async def _complete(
    one: Run,
    endpoint: Endpoint,
    environment: MutableMapping[str, str],
    keeper: Keeper | None,
    *,
    quiet: bool,
) -> None:
    """Send the request and print what comes, until its end or Ctrl+C."""
    async with aclosing(Connections(environment)) as connections:
        sending = connections.send(endpoint, one, on_status=tell_status)
        await follow(one, sending, keeper, quiet=quiet)


async def _converse(
    talk: _Talk,
    endpoint: Endpoint,
    environment: MutableMapping[str, str],
    keeper: Keeper | None,
    *,
    quiet: bool,
) -> Run:
    """Answer a conversation and keep the answer as its turn; returns its run."""
    session, place = talk.session, (endpoint, talk.draft)
    async with aclosing(Connections(environment)) as connections:
        async with aclosing(Prompter(connections)) as prompter:
            begun = await begin_answer(prompter, session.chat, talk.asked, session.variables, place)
        turns = session.chat.turns.ending_with(begun.turn.parent).with_turn(begun.turn)
        session.chat = replace(session.chat, turns=turns)
        if keeper is not None:
            keeper.keep_variables(session.variables)
            keeper.keep_chat(session.chat)
        sending = connections.send(endpoint, begun.run, on_status=tell_status)
        await follow(begun.run, sending, keeper, quiet=quiet)
        session.chat = answered(session.chat, begun.run)
        if keeper is not None:
            keeper.keep_chat(session.chat)
        return begun.run
