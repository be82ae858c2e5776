"""`workbench check`: compare an endpoint's answers with recorded runs, and report differences, for CI."""

from __future__ import annotations

import argparse
import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, closing, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from workbench.cli.batch import progress_bar
from workbench.cli.command_workspace import services_of, stop_on_signals
from workbench.cli.confirm import add_yes_option, is_agreed
from workbench.cli.exit_status import ExitStatus
from workbench.cli.messages import print_message
from workbench.cli.output import json_line, print_json
from workbench.cli.parsing import file_name, naming_files, positive
from workbench.cli.request_options import add_endpoint_options
from workbench.cli.tables import distribution
from workbench.domain.agreement import Agreement, Sum, Tolerances
from workbench.domain.display import figure, one_line, plural, visible
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError, StorageError
from workbench.domain.json_values import JsonValue
from workbench.domain.regression_case import CaseResult, CaseVerdict, Difference, ReportedToken
from workbench.domain.run import Run
from workbench.runner.connections import Connections
from workbench.runner.regression_check import DEFAULT_TOLERANCES, Case, RegressionCheck, Survey, survey
from workbench.storage.check_progress import CheckProgress
from workbench.storage.files import write_atomically
from workbench.storage.session_store import append_runs
from workbench.workspace.costs import Cost, cost_of


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
        "with the remaining mass as one outcome (default, where no tolerance is given: "
        f"{DEFAULT_TOLERANCES.divergence})",
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
    """Check, print a report and return the exit status."""
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
            endpoint = endpoint._replace(concurrency=arguments.concurrency)
        found = survey([Path(name) for name in arguments.sessions], count)
        if not found.count:
            raise BadValueError("there is nothing to check: no run in these sessions has an answer")
        if not is_agreed(sum(costs.values(), Cost()), sure=arguments.yes):
            return ExitStatus.BAD_ARGUMENTS
        with _progress(arguments, endpoint) as progress:
            checking = _check(found, services.connections, endpoint, arguments, progress)
            results, is_stopped, is_given_up, problem = asyncio.run(checking)
    results.sort(key=lambda result: result.number)
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
    """Whether a signal stopped the check."""
    is_given_up: bool = False
    """Whether the check ended because the endpoint failed too often."""
    problem: StorageError | None = None
    """The write error that ended the check, if any."""


def _status(results: list[CaseResult], *, has_blessed: bool) -> ExitStatus:
    verdicts = {result.verdict for result in results}
    if CaseVerdict.DIFFERS in verdicts and not has_blessed:
        return ExitStatus.FAILED
    return ExitStatus.ENDPOINT_FAILED if CaseVerdict.FAILED in verdicts else ExitStatus.OK


def _cost(endpoint: Endpoint, recorded: Run, arguments: argparse.Namespace) -> Cost:
    """Return the possible cost of a case."""
    if arguments.forced:
        count = len(recorded.choices) * arguments.times
        return Cost(count, count, count)
    once = cost_of(endpoint, recorded.request, recorded.split)
    return sum((once for _ in range(arguments.times)), Cost())


def _settings(arguments: argparse.Namespace, endpoint: Endpoint) -> Mapping[str, JsonValue]:
    """Return the settings that the results depend on, besides the sessions."""
    return {
        "endpoint": endpoint.name,
        "model": arguments.model or None,
        "mode": "forced" if arguments.forced else "free",
        "times": arguments.times,
        "tolerances": asdict(_tolerances(arguments)),
    }


def _tolerances(arguments: argparse.Namespace) -> Tolerances:
    given = Tolerances(arguments.max_kl, arguments.max_logprob_diff, arguments.min_top1)
    return given if given != Tolerances() else DEFAULT_TOLERANCES


def _progress(
    arguments: argparse.Namespace, endpoint: Endpoint
) -> AbstractContextManager[CheckProgress | None]:
    """Open the file for results, if one is given."""
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
    """Check all cases, or as many as possible."""
    done_before = [] if progress is None else progress.done
    earlier = [result for result in done_before if result.verdict is not CaseVerdict.FAILED]
    if earlier:
        print_message(f"{len(earlier)} of {found.count} cases are done already")
    # Failed cases are checked again, so the latest result of each case counts.
    results = list({(result.file, result.run): result for result in earlier}.values())
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
            done = {(result.file, result.run) for result in earlier}
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


_SHOWN = (CaseVerdict.DIFFERS, CaseVerdict.NOISY, CaseVerdict.FAILED)
_MOST_SHOWN = 50
"""The most cases per verdict that are printed in full."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def print_report(results: Sequence[CaseResult], count: int, *, is_given_up: bool) -> None:
    """Print the changed cases with their first differing token, and the figures of all cases."""
    for verdict in _SHOWN:
        some = [result for result in results if result.verdict is verdict]
        for result in some[:_MOST_SHOWN]:
            print(visible("\n".join(_lines(result))))
        if len(some) > _MOST_SHOWN:
            print(f"… and {plural(len(some) - _MOST_SHOWN, 'more case')} {verdict}")
    verdicts = Counter(result.verdict for result in results)
    counts = ", ".join(f"{verdicts[each]:,} {each}" for each in CaseVerdict if verdicts[each])
    print(f"{plural(len(results), 'case')}: {counts or 'none checked'}")
    if len(results) < count:
        why = "the endpoint failed too often in a row" if is_given_up else "stopped"
        print(f"{plural(count - len(results), 'case')} not checked: {why}")
    for line in _figures(sum((result.agreement for result in results), Agreement())):
        print(f"  {line}")
    reasons = Counter("; ".join(result.why) for result in results if result.verdict is CaseVerdict.SKIPPED)
    for reason, skipped in reasons.items():
        print(visible(f"  skipped {skipped:,}: {reason}"))


def _lines(result: CaseResult) -> list[str]:
    """Return the report lines of a case."""
    named = f" {one_line(result.name, 60)}" if result.name else ""
    often = f" {result.differing} of {result.repeats}" if result.repeats > 1 else ""
    lines = [f"{result.verdict.upper()}{often}  {result.file}#{result.run[:8]}{named}"]
    lines += [f"  {one_line(why)}" for why in result.why]
    if result.difference is not None:
        lines += _compared(result.difference)
    if result.agreement.positions:
        lines += [f"  {line}" for line in _figures(result.agreement)]
    return lines


def _compared(found: Difference) -> list[str]:
    choice = f" of choice {found.choice}" if found.choice else ""
    return [
        f"  at token {found.token + 1}{choice}:",
        f"    recorded  {distribution(found.recorded)}",
        f"    now       {distribution(found.now)}",
    ]


def _figures(found: Agreement) -> list[str]:
    """Describe the figures of the compared positions."""
    if not found.positions:
        return []
    top, overlap = (figure(total.mean, ".2%") for total in (found.same_top, found.overlap))
    difference, kl = found.logprob_difference, found.divergence
    return [
        f"{plural(found.positions, 'position')} compared · top-1 agreement {top} · overlap of the listed "
        f"alternatives {overlap}",
        f"|Δlogprob| mean {_mean(difference)}, largest {_largest(difference)} nats · KL(recorded ‖ now) mean "
        f"{_mean(kl)}, largest {_largest(kl)} nats (listed in both, remaining mass as one outcome)",
    ]


def _mean(found: Sum) -> str:
    return figure(found.mean, ".4g")


def _largest(found: Sum) -> str:
    return figure(found.largest if found.count else None, ".4g")


def report_to_json(
    results: Sequence[CaseResult], count: int, settings: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    """Return the whole report as JSON; logprobs and divergences are in nats."""
    verdicts = Counter(result.verdict for result in results)
    return {
        **settings,
        "cases": count,
        "verdicts": {verdict.value: verdicts[verdict] for verdict in CaseVerdict},
        "figures": _figures_to_json(sum((result.agreement for result in results), Agreement())),
        "results": [_result_to_json(result) for result in results],
    }


def _result_to_json(result: CaseResult) -> JsonValue:
    found = result.difference
    return {
        "file": result.file,
        "run": result.run,
        "name": result.name or None,
        "verdict": result.verdict.value,
        "repeats": result.repeats,
        "differing": result.differing,
        "why": list(result.why),
        "figures": _figures_to_json(result.agreement),
        "difference": None
        if found is None
        else {
            "choice": found.choice,
            "token": found.token,
            "recorded": _distribution_to_json(found.recorded),
            "now": _distribution_to_json(found.now),
        },
    }


def _distribution_to_json(found: ReportedToken) -> JsonValue:
    listed: list[JsonValue] = [{"text": text, "logprob": logprob} for text, logprob in found.alternatives]
    return {"text": found.token, "logprob": found.logprob, "alternatives": listed}


def _figures_to_json(found: Agreement) -> JsonValue:
    return {
        "positions": found.positions,
        "top1_agreement": found.same_top.mean,
        "overlap": found.overlap.mean,
        "logprob_difference_mean": found.logprob_difference.mean,
        "logprob_difference_max": found.logprob_difference.largest
        if found.logprob_difference.count
        else None,
        "kl_mean": found.divergence.mean,
        "kl_max": found.divergence.largest if found.divergence.count else None,
    }


def write_junit(path: Path, results: Sequence[CaseResult]) -> None:
    """Write JUnit XML: one suite per session file, one test case per run. Raises StorageError."""
    root = ElementTree.Element("testsuites", name="workbench check")
    by_file: dict[str, list[CaseResult]] = {}
    for result in results:
        by_file.setdefault(result.file, []).append(result)
    for file, some in by_file.items():
        verdicts = Counter(result.verdict for result in some)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=_xml(file),
            tests=str(len(some)),
            failures=str(verdicts[CaseVerdict.DIFFERS]),
            errors=str(verdicts[CaseVerdict.FAILED]),
            skipped=str(verdicts[CaseVerdict.SKIPPED]),
        )
        for result in some:
            entry = ElementTree.SubElement(
                suite, "testcase", classname=_xml(file), name=_xml(result.name or result.run)
            )
            text, message = _xml("\n".join(_lines(result))), _xml("; ".join(result.why))
            match result.verdict:
                case CaseVerdict.DIFFERS:
                    ElementTree.SubElement(entry, "failure", message=message).text = text
                case CaseVerdict.FAILED:
                    ElementTree.SubElement(entry, "error", message=message).text = text
                case CaseVerdict.SKIPPED:
                    ElementTree.SubElement(entry, "skipped", message=message)
                case CaseVerdict.NOISY:
                    ElementTree.SubElement(entry, "system-out").text = text
    write_atomically(path, ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def _xml(text: str) -> str:
    """Replace characters that XML does not allow."""
    return _NOT_XML.sub("\ufffd", visible(text))
