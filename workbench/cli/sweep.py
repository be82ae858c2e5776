"""`workbench sweep`: one or two parameters varied over lists or ranges."""

from __future__ import annotations

import argparse
import os
import sys

from workbench.cli.arguments import (
    add_endpoint_options,
    add_parameter_options,
    add_prompt_options,
    explain,
    read_parameters,
    read_prompt,
)
from workbench.cli.batch import (
    LOGPROBS_ADDED,
    add_batch_options,
    batch_status,
    execute_batch,
    tell,
    tell_answered,
    with_logprobs,
)
from workbench.cli.confirm import is_agreed
from workbench.cli.exit_status import ExitStatus
from workbench.cli.output import print_json, run_to_json
from workbench.cli.run import find_endpoint
from workbench.cli.sessions import open_for_writing
from workbench.cli.tables import number, print_table
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.prompt import prompt_to_editor
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.domain.summary import Measure, spread, summarise
from workbench.domain.sweep import Cell, Sweep, parse_axis
from workbench.domain.values import format_value
from workbench.runner.compare_plan import Column, grid_remarks, ignored, probes_of
from workbench.runner.resume import sweep_again
from workbench.storage.folders import Folders
from workbench.workspace.costs import cost_of_jobs

_MOST_AXES = 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_prompt_options(parser)
    parser.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="FIELD=VALUES",
        help="what to vary: temperature=0:1.5:0.25 (low:high:step) or top_p=0.5,1; once or twice",
    )
    parser.add_argument("--repeats", type=int, default=1, metavar="N", help="requests per cell")
    parser.add_argument(
        "--measure",
        default=Measure.PERPLEXITY.value,
        choices=[one.value for one in Measure],
        help="the figure in the table (default: %(default)s)",
    )
    add_endpoint_options(parser)
    add_parameter_options(parser)
    add_batch_options(parser)


def run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Sweep, and print a grid or JSON; returns the exit status."""
    try:
        endpoint = find_endpoint(arguments)
        axes = tuple(map(parse_axis, arguments.vary))
        if not 1 <= len(axes) <= _MOST_AXES or len({axis.field for axis in axes}) < len(axes):
            raise BadValueError("a sweep varies one or two different fields", hint="Use --vary FIELD=VALUES.")
        if arguments.repeats < 1:
            raise BadValueError("--repeats must be at least 1")
        prompt = read_prompt(arguments)
    except BadValueError as problem:
        parser.error(f"{problem.title}. {problem.hint}".strip())
    parameters, problems = read_parameters(arguments, endpoint.limits, endpoint.lenient)
    if problems:
        for wrong in problems:
            print(f"{parser.prog}: error: {explain(wrong, endpoint.limits)}", file=sys.stderr)
        return ExitStatus.BAD_ARGUMENTS
    if Measure(arguments.measure).needs_logprobs and all(axis.field != "logprobs" for axis in axes):
        measured = with_logprobs(parameters, endpoint)
        if measured != parameters:
            tell([LOGPROBS_ADDED])
            parameters = measured
    sweep = Sweep(Request(prompt, arguments.model or endpoint.model, parameters), axes, arguments.repeats)
    with open_for_writing(arguments.session) as keeper:
        jobs = sweep_again(sweep, endpoint, keeper.session.runs if keeper is not None else ())
        columns = [Column("", endpoint, "", job.run.request.parameters) for job in jobs]
        tell(ignored(columns, probes_of(Folders.default(os.environ), columns)))
        tell_answered(jobs, arguments.session)
        if not is_agreed(cost_of_jobs(jobs), sure=arguments.yes):
            return ExitStatus.BAD_ARGUMENTS
        interrupted = execute_batch(jobs, dict(os.environ), arguments, keeper)
        # Before the session is closed: a disk that is full takes no answer away.
        runs = [job.run for job in jobs]
        if arguments.json:
            print_json(
                [
                    {
                        "vary": {
                            axis.field: format_value(value)
                            for axis, value in zip(axes, cell.values, strict=True)
                        },
                        "repeat": cell.repeat,
                        **run_to_json(one),
                    }
                    for cell, one in zip(sweep.cells(), runs, strict=True)
                ]
            )
        else:
            _print(sweep, runs, endpoint, Measure(arguments.measure))
            each = len(runs) // len(axes[0].values)
            tell(grid_remarks([runs[start : start + each] for start in range(0, len(runs), each)]))
        return batch_status(runs, interrupted)


def _print(sweep: Sweep, runs: list[Run], endpoint: Endpoint, measure: Measure) -> None:
    shown: dict[Cell, list[float]] = {}
    for cell, one in zip(sweep.cells(), runs, strict=True):
        values = shown.setdefault(Cell(cell.values), [])
        for choice in one.ordered:
            value = summarise(one, choice, endpoint.prices).value(measure)
            if value is not None:
                values.append(value)
    rows, columns = sweep.axes[0], sweep.axes[1] if len(sweep.axes) > 1 else None
    across = columns.values if columns else (None,)
    table = [
        [format_value(down), *(_cell(shown[Cell((down,) if one is None else (down, one))]) for one in across)]
        for down in rows.values
    ]
    heads = [f"{columns.field} {format_value(one)}" for one in across] if columns else [measure.value]
    title = f"{measure.value} of {prompt_to_editor(sweep.request.prompt)}"
    print_table(title, [rows.field, *heads], table)
    if measure.needs_logprobs and not any(shown.values()):
        tell([f"no answer has a {measure.value}: {endpoint.name} returned no logprobs"])


def _cell(values: list[float]) -> str:
    found = spread(values)
    if found is None:
        return "—"
    mean, deviation = found
    return number(mean, ".3g") + (f" ±{deviation:.2g}" if len(values) > 1 else "")
