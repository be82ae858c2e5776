"""`workbench run`: complete a prompt without a screen."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Coroutine, MutableMapping
from contextlib import aclosing, suppress

from workbench.chat.jinja_template import ChatRenderer
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
    fill_conversation,
    fill_prompt,
    read_conversation,
    read_variables,
)
from workbench.cli.exit_status import ExitStatus
from workbench.cli.output import Printer, print_failure, print_json, run_to_json
from workbench.cli.sessions import open_for_writing
from workbench.client.client import Client
from workbench.domain.conversation import Conversation
from workbench.domain.display import visible
from workbench.domain.endpoint import LOCAL, Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.prompt import Prompt, TextPrompt, count_prompts
from workbench.domain.request import Request
from workbench.domain.run import Outcome, Run
from workbench.domain.splitting import Split
from workbench.runner.chatting import chat_request, find_template
from workbench.runner.keeping import keep
from workbench.runner.launch import launch
from workbench.runner.local_server import LocalServer
from workbench.runner.splitting import Habits, offer_split
from workbench.storage.endpoints import endpoint_for, load_endpoints
from workbench.storage.folders import Folders
from workbench.storage.probes import load_probe
from workbench.storage.session_store import SessionStore


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_prompt_options(parser)
    add_chat_options(parser)
    add_endpoint_options(parser)
    add_parameter_options(parser)
    parser.add_argument(
        "--split",
        action="store_true",
        help="send a request for each prompt and each choice, counting a seed up, and show them as one run",
    )
    parser.add_argument("--session", metavar="FILE", help="append the run to a session, created if missing")
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object at the end instead of the text"
    )


def run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Complete the prompt; returns the exit status."""
    environment = dict(os.environ)
    try:
        endpoint = find_endpoint(arguments)
        conversation, prompt = _read_input(arguments)
    except BadValueError as problem:
        parser.error(f"{problem.title}. {problem.hint}".strip())
    # Asked for one by one, any number of choices is within an endpoint's limit.
    limits = {name: one for name, one in endpoint.limits.items() if name != "n" or not arguments.split}
    parameters, problems = read_parameters(arguments, limits, endpoint.lenient)
    if problems:
        parser.print_usage(sys.stderr)
        for wrong in problems:
            print(f"{parser.prog}: error: {explain(wrong, limits)}", file=sys.stderr)
        return ExitStatus.BAD_ARGUMENTS
    if arguments.split and parameters.number("best_of", 1) > 1:
        parser.error("--split: candidates of best_of are ranked within one request, so it is not split")
    request = Request(prompt, arguments.model or endpoint.model, parameters)
    one = Run(request, endpoint.name, split=_split(request, endpoint, wanted=arguments.split))
    with open_for_writing(arguments.session) as store:
        interrupted = asyncio.run(
            _complete(one, endpoint, environment, store, conversation=conversation, arguments=arguments)
        )
    if arguments.json:
        print_json(run_to_json(one))
    if one.error is not None:
        print_failure(one.error)
    if interrupted:
        return ExitStatus.INTERRUPTED
    return ExitStatus.OK if one.outcome in (Outcome.COMPLETE, Outcome.UNFINISHED) else ExitStatus.FAILED


def _split(request: Request, endpoint: Endpoint, *, wanted: bool) -> Split | None:
    """What gets a request of its own where that is wanted; where it would help and is not, that is said."""
    if wanted:
        several = count_prompts(request.prompt) > 1, request.parameters.number("n", 1) > 1
        return Split(*several) or None
    if request.choices > 1:
        habits = Habits(load_probe(Folders.default(os.environ), endpoint.name))
        if (offer := offer_split(endpoint, request, habits)) is not None:
            words = f"{endpoint.name} may not answer this in one request: {offer.reason}"
            print(f"workbench: {visible(words)}; --split sends {offer.requests} instead", file=sys.stderr)
    return None


def _read_input(arguments: argparse.Namespace) -> tuple[Conversation | None, Prompt]:
    values = read_variables(arguments.set)
    if not arguments.chat:
        return None, fill_prompt(read_prompt(arguments), values)
    if arguments.prompt or arguments.prompt_file or arguments.prompt_ids:
        raise BadValueError("--chat gives the prompt; it cannot be mixed with other prompts", field="prompt")
    return fill_conversation(read_conversation(arguments.chat), values), TextPrompt("")


def find_endpoint(arguments: argparse.Namespace) -> Endpoint:
    """The endpoint that the options name: a profile, or a bare URL."""
    loaded = load_endpoints(Folders.default(os.environ))
    return endpoint_for(arguments.endpoint or LOCAL, arguments.api_key_env, loaded)


async def _complete(
    one: Run,
    endpoint: Endpoint,
    environment: MutableMapping[str, str],
    store: SessionStore | None,
    *,
    conversation: Conversation | None,
    arguments: argparse.Namespace,
) -> bool:
    """Send the request and print what comes; True where Ctrl+C stopped it."""
    server, client = LocalServer(environment), Client(environment)
    try:
        if conversation is not None:
            ready = await server.ensure(endpoint) if endpoint.name == LOCAL else endpoint
            template = await find_template(arguments.template, client, ready)
            asked = one.request
            async with aclosing(ChatRenderer()) as renderer:
                chat = await chat_request(renderer, conversation, template, asked.model, asked.parameters)
            one.request = chat.request
        return await _follow(one, launch(client, server, endpoint, one, _tell), store, quiet=arguments.json)
    finally:
        await client.aclose()
        await server.aclose()


async def _follow(
    one: Run, launching: Coroutine[None, None, None], store: SessionStore | None, *, quiet: bool
) -> bool:
    task = asyncio.create_task(launching)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, task.cancel)
    keeping = None if store is None else asyncio.create_task(keep(store, one))
    printer = None if quiet else Printer(one)
    try:
        if printer is not None:
            following = asyncio.create_task(printer.follow())
            await asyncio.wait({task, following}, return_when=asyncio.FIRST_COMPLETED)
            if following.done() and (failed := following.exception()) is not None:
                raise failed
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following
        with suppress(asyncio.CancelledError):
            await task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        if keeping is not None:
            await keeping
    if printer is not None:
        printer.finish()
    return one.outcome is Outcome.STOPPED


def _tell(status: str) -> None:
    if status and sys.stderr.isatty():
        print(f"workbench: {visible(status)}", file=sys.stderr)
