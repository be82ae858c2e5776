"""`workbench run`: complete a prompt without a screen."""

from __future__ import annotations

import argparse
import os
from contextlib import aclosing

from workbench.cli.chat_options import add_chat_options, is_chat, read_chat, read_variables
from workbench.cli.command_workspace import follow, open_workspace, report, run_in, services_of
from workbench.cli.confirm import add_yes_option, is_agreed
from workbench.cli.exit_status import ExitStatus
from workbench.cli.messages import print_message
from workbench.cli.parsing import file_name, refuse_unused
from workbench.cli.request_options import (
    add_endpoint_options,
    add_parameter_options,
    add_prompt_options,
    read_parameters,
    read_prompt,
    refuse,
)
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.prompt import TextPrompt, count_prompts, kind_of, prompt_to_editor
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.domain.session import Draft
from workbench.domain.split import Split
from workbench.domain.variables import fill_prompt
from workbench.runner.split_run import Quirks, offer_split
from workbench.storage.files import Folders
from workbench.storage.probes import load_probe
from workbench.workspace.chat_session import ChatSession
from workbench.workspace.costs import cost_of
from workbench.workspace.workspace import Workspace

_OF_CHAT = ("template", "prefix", "when_full", "context")
"""Options that only conversations use."""


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


def run(arguments: argparse.Namespace) -> int:
    """Complete the prompt and return the exit status."""
    services = services_of(arguments)
    endpoint = services.endpoint
    variables = read_variables(arguments.var, arguments.vars)
    prompt = TextPrompt("") if is_chat(arguments) else fill_prompt(read_prompt(arguments), variables)
    _refuse_mixed_prompts(arguments)
    # With --split each request has a single choice, so the endpoint's limit of n does not apply.
    limits = {
        name: allowed for name, allowed in endpoint.limits.items() if name != "n" or not arguments.split
    }
    parameters, problems = read_parameters(arguments, limits, endpoint.lenient)
    refuse(problems)
    request = Request(prompt, arguments.model or endpoint.model, parameters)
    split = split_of(request, endpoint, split=arguments.split)
    if not is_agreed(cost_of(endpoint, request, split), sure=arguments.yes):
        return ExitStatus.BAD_ARGUMENTS
    with open_workspace(services, arguments.session) as workspace:
        if is_chat(arguments):
            session = workspace.session
            session.variables = {**session.variables, **variables}
            session.chat, prefill = read_chat(arguments, session.chat)
            chat = ChatSession(workspace, endpoint, request, is_shown=False)
            chat.begin(endpoint, request)
            chat.prefill = prefill
            finished = run_in(workspace, _answer(chat, quiet=arguments.json))
        else:
            _begin_draft(workspace, request)
            finished = run_in(workspace, _complete(workspace, request, split, quiet=arguments.json))
        # Printed before the session is closed, so that a full disk does not lose the answer.
        return report(finished, as_json=arguments.json)


def _begin_draft(workspace: Workspace, request: Request) -> None:
    """Make the request the draft of a new session, to continue on the screen."""
    session, prompt = workspace.session, request.prompt
    if not session.runs and session.draft == Draft():
        text, kind, endpoint = prompt_to_editor(prompt), kind_of(prompt), workspace.services.endpoint.name
        workspace.keeper.edited(Draft(endpoint, request.model, "", text, kind, request.parameters))


def _refuse_mixed_prompts(arguments: argparse.Namespace) -> None:
    """Raise BadValueError for options of a conversation and of other prompts together."""
    if is_chat(arguments) and (arguments.prompt or arguments.prompt_file or arguments.prompt_ids):
        raise BadValueError(
            "--chat and --say give the prompt; they cannot be mixed with other prompts", field="prompt"
        )
    if is_chat(arguments) and arguments.split:
        raise BadValueError("--split is for prompts: a conversation has one answer at a time")
    if not is_chat(arguments):
        refuse_unused(arguments, _OF_CHAT, "is only for conversations, which --chat or --say gives")
    if arguments.say is not None and not (arguments.chat or arguments.session):
        raise BadValueError("--say needs a conversation to continue", hint="Name --session or --chat.")


async def _complete(workspace: Workspace, request: Request, split: Split | None, *, quiet: bool) -> Run:
    """Send the request and print the answer, until its end or Ctrl+C."""
    sent = workspace.runs.send(request, workspace.services.endpoint, split=split)
    await follow(workspace, sent, quiet=quiet)
    return sent


async def _answer(chat: ChatSession, *, quiet: bool) -> Run:
    """Answer the conversation, print the answer, add it as a turn, and return its run."""
    async with aclosing(chat):
        proposal = await chat.reply()
    workspace, answer = chat.workspace, proposal.run
    workspace.keeper.keep_variables(chat.variables)
    chat.accept(proposal)
    workspace.runs.start(answer, chat.endpoint)
    await follow(workspace, answer, quiet=quiet)
    chat.ended(answer)
    return answer


def add_split_option(parser: argparse.ArgumentParser) -> None:
    """Add `--split`."""
    parser.add_argument(
        "--split",
        action="store_true",
        help="send a request for each prompt and each choice, counting a seed up, and show them as one run",
    )


def split_of(request: Request, endpoint: Endpoint, *, split: bool) -> Split | None:
    """Return how to split the request if `split`; otherwise print a hint if splitting would help.

    Raises BadValueError if the request cannot be split.
    """
    if split:
        if request.parameters.number("best_of", 1) > 1:
            raise BadValueError(
                "--split: candidates of best_of are ranked within one request, so it is not split",
                field="best_of",
            )
        several = count_prompts(request.prompt) > 1, request.parameters.number("n", 1) > 1
        return Split(*several) or None
    if request.choices > 1:
        quirks = Quirks(load_probe(Folders.default(os.environ), endpoint.name))
        if (offer := offer_split(endpoint, request, quirks)) is not None:
            warning = f"{endpoint.name} may not answer this in one request: {offer.reason}"
            print_message(f"{warning}; --split sends {offer.requests} instead")
    return None
