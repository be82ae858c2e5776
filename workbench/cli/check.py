"""`workbench check`: hold an endpoint to what sessions recorded of it; made for continuous integration."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping
from contextlib import AbstractContextManager, aclosing, closing, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

from workbench.cli.arguments import add_endpoint_options
from workbench.cli.batch import progress_bar
from workbench.cli.check_report import print_report, report_to_json, write_junit
from workbench.cli.command_workspace import services_of, stop_on_signals
from workbench.cli.confirm import add_yes_option, is_agreed
from workbench.cli.exit_status import ExitStatus
from workbench.cli.messages import print_message
from workbench.cli.output import json_line, print_json
from workbench.cli.parsing import file_name, naming_files, positive
from workbench.domain.agreement import Tolerances
from workbench.domain.case_comparison import CaseResult, CaseVerdict
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError, StorageError
from workbench.domain.json_values import JsonValue
from workbench.domain.run import Run
from workbench.runner.connections import Connections
from workbench.runner.regression_check import Case, RegressionCheck, Survey, survey
from workbench.storage.check_progress import CheckProgress
from workbench.storage.files import write_atomically
from workbench.storage.session_store import append_runs
from workbench.workspace.costs import Cost, cost_of

MAX_KL = 0.1
"""The tolerated KL(recorded ‖ now), in nats, where no tolerance is given."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "sessions",
        type=file_name,
        nargs="+",
        metavar="SESSION|FOLDER",
        help="session files, or folders of them",
    )
    add_endpoint_options(parser)
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument(
        "--free",
        action="store_true",
        help="send each request again and compare up to where the answers diverge (default); the texts must "
        "be equal where temperature is 0 or a seed is set",
    )
    modes.add_argument(
        "--forced",
        action="store_true",
        help="score the recorded tokens instead, so that every position is compared (needs echo)",
    )
    parser.add_argument(
        "--times",
        type=positive,
        default=1,
        metavar="K",
        help="repeat each case K times: it differs where all repeats do, and is noisy where only some do",
    )
    group = parser.add_argument_group("tolerances")
    group.add_argument(
        "--max-kl",
        type=_tolerance,
        metavar="X",
        help="the largest KL(recorded ‖ now) at any position, in nats, over the alternatives listed in both "
        f"with the remaining mass as one outcome (default, where no tolerance is given: {MAX_KL})",
    )
    group.add_argument(
        "--max-logprob-diff",
        type=_tolerance,
        metavar="X",
        help="the largest |Δlogprob| of a recorded token, in nats",
    )
    group.add_argument(
        "--min-top1",
        type=_tolerance,
        metavar="X",
        help="the least fraction of a case's positions whose likeliest token is the same, 0 to 1",
    )
    group = parser.add_argument_group("requests and results")
    group.add_argument("--concurrency", type=positive, metavar="N", help="maximum concurrent requests")
    group.add_argument(
        "--json", type=file_name, metavar="FILE", help="write a report as JSON; - is standard output"
    )
    group.add_argument("--junit", type=file_name, metavar="FILE", help="write a report as JUnit XML")
    group.add_argument(
        "--progress",
        type=file_name,
        metavar="FILE",
        help="write each result to this JSON Lines file; a restarted check continues after the last one",
    )
    group.add_argument(
        "--bless",
        action="store_true",
        help="append the answers that differ to their sessions; later checks compare with the newest answer",
    )
    add_yes_option(group)


def run(arguments: argparse.Namespace) -> int:
    """Check, and print a report; returns the exit status."""
    if arguments.bless and arguments.forced:
        raise BadValueError("--bless records new answers, which --forced does not ask for")
    if arguments.min_top1 is not None and arguments.min_top1 > 1:
        raise BadValueError("--min-top1 must be between 0 and 1")
    costs: dict[tuple[Path, str], Cost] = {}

    def count(path: Path, root: str, recorded: Run) -> None:
        costs[path, root] = _cost(endpoint, recorded, arguments)

    with naming_files():
        services = services_of(arguments)
        endpoint = services.endpoint
        if arguments.concurrency is not None:
            endpoint = replace(endpoint, concurrency=arguments.concurrency)
        found = survey([Path(name) for name in arguments.sessions], count)
        if not found.count:
            raise BadValueError("there is nothing to check: no run in these sessions has an answer")
        if not is_agreed(sum(costs.values(), Cost()), sure=arguments.yes):
            return ExitStatus.BAD_ARGUMENTS
        with _progress(arguments, endpoint) as progress:
            checking = _check(found, services.connections, endpoint, arguments, progress)
            results, is_stopped, is_given_up, problem = asyncio.run(checking)
    results.sort(key=lambda one: one.number)
    if arguments.json == "-":
        print_json(report_to_json(results, found.count, _settings(arguments, endpoint)))
    else:
        print_report(results, found.count, is_given_up=is_given_up)
    if arguments.json not in (None, "-"):
        report = report_to_json(results, found.count, _settings(arguments, endpoint))
        write_atomically(Path(arguments.json), json_line(report))
    if arguments.junit:
        write_junit(Path(arguments.junit), results)
    if problem is not None:
        raise problem
    if is_stopped:
        return ExitStatus.INTERRUPTED
    return _status(results, has_blessed=arguments.bless)


class _Checked(NamedTuple):
    results: list[CaseResult]
    is_stopped: bool = False
    """Whether a signal stopped it."""
    is_given_up: bool = False
    """Whether the endpoint failed too often."""
    problem: StorageError | None = None
    """Why a result or an answer could not be written, which ended it."""


def _status(results: list[CaseResult], *, has_blessed: bool) -> ExitStatus:
    verdicts = {one.verdict for one in results}
    if CaseVerdict.DIFFERS in verdicts and not has_blessed:
        return ExitStatus.FAILED
    return ExitStatus.ENDPOINT_FAILED if CaseVerdict.FAILED in verdicts else ExitStatus.OK


def _cost(endpoint: Endpoint, recorded: Run, arguments: argparse.Namespace) -> Cost:
    """What one case may cost."""
    if arguments.forced:
        count = len(recorded.choices) * arguments.times
        return Cost(count, count, count)
    once = cost_of(endpoint, recorded.request, recorded.split)
    return sum((once for _ in range(arguments.times)), Cost())


def _settings(arguments: argparse.Namespace, endpoint: Endpoint) -> Mapping[str, JsonValue]:
    """What the results depend on, beside the sessions."""
    return {
        "endpoint": endpoint.name,
        "model": arguments.model or None,
        "mode": "forced" if arguments.forced else "free",
        "times": arguments.times,
        "tolerances": asdict(_tolerances(arguments)),
    }


def _tolerances(arguments: argparse.Namespace) -> Tolerances:
    given = Tolerances(arguments.max_kl, arguments.max_logprob_diff, arguments.min_top1)
    return given if given != Tolerances() else Tolerances(divergence=MAX_KL)


def _progress(
    arguments: argparse.Namespace, endpoint: Endpoint
) -> AbstractContextManager[CheckProgress | None]:
    """The file that keeps each result, closed at the end; None where none is named."""
    if not arguments.progress:
        return nullcontext()
    return closing(CheckProgress(Path(arguments.progress), _settings(arguments, endpoint)))


async def _check(
    found: Survey,
    connections: Connections,
    endpoint: Endpoint,
    arguments: argparse.Namespace,
    progress: CheckProgress | None,
) -> _Checked:
    """Check all cases, or as many as can be."""
    earlier = (
        [] if progress is None else [one for one in progress.done if one.verdict is not CaseVerdict.FAILED]
    )
    if earlier:
        print_message(f"{len(earlier)} of {found.count} cases are done already")
    # A case that failed is checked again, so the newest result of each counts.
    results = list({(one.file, one.run): one for one in earlier}.values())
    with progress_bar("cases", found.count, len(results)) as bar:

        def keep(result: CaseResult, case: Case, answer: Run | None) -> None:
            results.append(result)
            bar.advance(bar.task_ids[0])
            if arguments.bless and answer is not None and result.verdict is CaseVerdict.DIFFERS:
                append_runs(case.path, [answer])
            if progress is not None:
                progress.add(result)

        async with aclosing(connections):
            tolerances, forced, times = _tolerances(arguments), arguments.forced, arguments.times
            check = RegressionCheck(connections, endpoint, tolerances, arguments.model, forced, times)
            done = {(one.file, one.run) for one in earlier}
            task = asyncio.create_task(check.run(found, done, keep))
            stop_on_signals(task.cancel)
            try:
                return _Checked(results, is_given_up=not await task)
            except asyncio.CancelledError:
                return _Checked(results, is_stopped=True)
            except StorageError as problem:
                return _Checked(results, problem=problem)


def _tolerance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")
    return value
