"""`workbench branch`: continue a recorded run from a token, with another token, or from its end."""

from __future__ import annotations

import argparse
from functools import partial

from workbench.cli.command_workspace import follow, open_workspace, report, run_in, services_of
from workbench.cli.confirm import add_yes_option, is_agreed
from workbench.cli.exit_status import ExitStatus
from workbench.cli.parsing import file_name
from workbench.cli.request_options import add_endpoint_options, add_parameter_options, read_parameters, refuse
from workbench.cli.session_files import choose_choice, choose_runs, choose_token
from workbench.domain.choice import Alternative, Choice
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.runner.branching import Origin, branch_from, end_of, origin_of, with_token_ids
from workbench.runner.compare_plan import overlay
from workbench.storage.endpoint_list import endpoint_for
from workbench.workspace.costs import cost_of
from workbench.workspace.workspace import Workspace


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "file", type=file_name, metavar="FILE", help="a session file; the branch is added to it"
    )
    parser.add_argument("--run", metavar="ID", help="run to branch from (id prefix or name)")
    parser.add_argument(
        "--choice", type=int, default=1, metavar="K", help="choice of the run, from 1 (default: 1)"
    )
    parser.add_argument("--token", type=int, metavar="K", help="token to branch at, from 1 (default: end)")
    taken = parser.add_mutually_exclusive_group()
    taken.add_argument("--with", dest="text", metavar="TEXT", help="text that replaces the token")
    taken.add_argument(
        "--rank", type=int, metavar="K", help="rank of the listed alternative that replaces the token, from 1"
    )
    parser.add_argument(
        "--as-ids", action="store_true", help="send token ids, so that every token stays as it was generated"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    add_endpoint_options(parser)
    add_parameter_options(parser)
    add_yes_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the branch and return the exit status."""
    services = services_of(arguments)
    with open_workspace(services, arguments.file) as workspace:
        runs = workspace.session.runs
        (left,) = choose_runs(workspace.session, arguments.run or (runs[-1].id if runs else None))
        endpoint = endpoint_for(
            arguments.endpoint or left.endpoint, arguments.api_key_env, services.endpoints
        )
        given, problems = read_parameters(arguments, endpoint.limits, endpoint.lenient)
        refuse(problems)
        origin = _origin(left, arguments)
        parameters = overlay(left.request.parameters, given)
        request = Request(left.request.prompt, arguments.model or left.request.model, parameters)
        if not is_agreed(cost_of(endpoint, request), sure=arguments.yes):
            return ExitStatus.BAD_ARGUMENTS
        added = tuple(name for name in left.added if name not in given.values)
        sending = _branch(workspace, origin, request, endpoint, arguments, added=added)
        finished = run_in(workspace, sending)
        return report(finished, as_json=arguments.json)


def _origin(left: Run, arguments: argparse.Namespace) -> Origin:
    choice = choose_choice(left, arguments.choice)
    if arguments.token is None:
        if arguments.text is not None or arguments.rank is not None:
            raise BadValueError("--with and --rank need a --token", hint="Tokens count from 1.")
        return end_of(left, choice)
    position = choose_token(choice, arguments.token)
    return origin_of(left, choice, position, _alternative(choice, position, arguments))


def _alternative(choice: Choice, position: int, arguments: argparse.Namespace) -> Alternative:
    listed = choice.alternatives_of(position)
    if arguments.text is not None:
        text: str = arguments.text
        return next((other for other in listed if other.text == text), Alternative(text, None))
    if arguments.rank is None:
        raise BadValueError("No replacement for the token given", hint="Use --with TEXT or --rank K.")
    if not 0 < arguments.rank <= len(listed):
        hint = f"{len(listed)} are listed."
        raise BadValueError(f"The token has no alternative {arguments.rank}", hint=hint)
    return listed[int(arguments.rank) - 1]


async def _branch(
    workspace: Workspace,
    origin: Origin,
    request: Request,
    endpoint: Endpoint,
    arguments: argparse.Namespace,
    *,
    added: tuple[str, ...],
) -> Run:
    """Send the branch with the parameters of `request`, of which the user set all but `added`."""
    if arguments.as_ids:
        tokenize = partial(workspace.services.connections.tokenize, endpoint)
        branch = await with_token_ids(origin, tokenize)
    else:
        branch = branch_from(origin)
    sent = workspace.runs.send(request._replace(prompt=branch.prompt), endpoint, branch=branch, added=added)
    await follow(workspace, sent, quiet=arguments.json)
    return sent
