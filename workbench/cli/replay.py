"""`workbench replay`: print a recorded run as it streamed, or send it again and compare."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from itertools import islice
from math import inf

from workbench.cli.batch import execute_batch
from workbench.cli.command_workspace import open_workspace, services_of
from workbench.cli.confirm import add_yes_option, is_agreed
from workbench.cli.exit_status import ExitStatus
from workbench.cli.output import Printer, print_json
from workbench.cli.parsing import file_name, positive
from workbench.cli.request_options import add_endpoint_options
from workbench.cli.session_files import choose_runs, read_session
from workbench.cli.tables import distribution
from workbench.domain.display import visible
from workbench.domain.errors import BadValueError
from workbench.domain.json_values import JsonValue
from workbench.domain.regression_case import ReportedToken
from workbench.domain.rerun_check import ChoiceCheck, RunCheck, check_run, describe_repeats
from workbench.domain.run import Outcome, Run
from workbench.runner.many_runs import Job
from workbench.runner.replayed_run import Replay
from workbench.storage.endpoint_list import endpoint_for
from workbench.workspace.costs import cost_of_jobs
from workbench.workspace.rerun import again


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("file", type=file_name, metavar="FILE", help="a session file")
    parser.add_argument("--run", metavar="ID", help="one run (id prefix or name)")
    parser.add_argument(
        "--speed", type=_speed, default=1.0, metavar="X", help="2 is twice as fast as recorded; 0 is at once"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="send the runs again; exits with 0 where all are identical, else 1",
    )
    parser.add_argument(
        "--times", type=positive, default=1, metavar="K", help="with --check: send each run K times"
    )
    parser.add_argument("--json", action="store_true", help="with --check: print a report as JSON")
    add_endpoint_options(parser)
    add_yes_option(parser)
    parser.set_defaults(concurrency=1, requests_per_minute=None)


def run(arguments: argparse.Namespace) -> int:
    """Replay or check runs, and return the exit status."""
    runs = choose_runs(read_session(arguments.file), arguments.run)
    if not arguments.check:
        if arguments.json or arguments.times > 1:
            raise BadValueError("--json and --times need --check")
        return asyncio.run(_replay(runs, arguments.speed))
    return _check(runs, arguments)


async def _replay(runs: Sequence[Run], speed: float) -> int:
    for recorded in runs:
        replay = Replay(recorded, speed)
        printer = Printer(replay.run)
        following = asyncio.create_task(printer.follow())
        await replay.play()
        if replay.run.is_running:
            replay.run.outcome = Outcome.STOPPED
        await following
        printer.finish()
        if recorded is not runs[-1]:
            print("\n", flush=True)
    return ExitStatus.OK


def _check(runs: Sequence[Run], arguments: argparse.Namespace) -> int:
    services = services_of(arguments)
    jobs = [
        Job(
            endpoint_for(arguments.endpoint or original.endpoint, arguments.api_key_env, services.endpoints),
            again(original),
        )
        for original in runs
        for _ in range(arguments.times)
    ]
    if not is_agreed(cost_of_jobs(jobs), sure=arguments.yes):
        return ExitStatus.BAD_ARGUMENTS
    with open_workspace(services, None) as workspace:
        interrupted = execute_batch(workspace, jobs, arguments)
    sent, times = [job.run for job in jobs], arguments.times
    groups = [sent[start : start + times] for start in range(0, len(sent), times)]
    pairs = [(recorded, answer) for recorded, group in zip(runs, groups, strict=True) for answer in group]
    checks = [check_run(recorded, answer) for recorded, answer in pairs]
    if arguments.json:
        print_json([_to_json(check) for check in checks])
    else:
        unprinted = iter(checks)
        for recorded, group in zip(runs, groups, strict=True):
            for check in islice(unprinted, times):
                _print(check)
            if times > 1:
                print(f"{recorded.id[:8]}  {visible(describe_repeats(group))}")
    if interrupted:
        return ExitStatus.INTERRUPTED
    return ExitStatus.OK if all(check.identical for check in checks) else ExitStatus.FAILED


def _print(check: RunCheck) -> None:
    if check.error:
        print(f"{check.run[:8]}  error: {visible(check.error)}")
    for choice in check.choices:
        label = f" choice {choice.index}" if len(check.choices) > 1 else ""
        print(f"{check.run[:8]}{label}  {visible(choice.describe())}")
        for name, token in (("recorded", choice.recorded), ("again", choice.again)):
            if token is not None and choice.differs:
                print(f"  {name:<9}{distribution(ReportedToken.of(token))}")


def _to_json(check: RunCheck) -> JsonValue:
    return {
        "run": check.run,
        "identical": check.identical,
        "error": check.error or None,
        "choices": [_choice_to_json(choice) for choice in check.choices],
    }


def _choice_to_json(choice: ChoiceCheck) -> JsonValue:
    return {
        "index": choice.index,
        "identical": choice.identical,
        "differs": choice.differs,
        "equal_tokens": choice.equal,
        "recorded_tokens": choice.recorded_length,
        "again_tokens": choice.again_length,
        "report": choice.describe(),
    }


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = -1
    if not speed >= 0:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a speed: 1 is as recorded, 2 twice as fast, 0 at once"
        )
    return speed or inf
