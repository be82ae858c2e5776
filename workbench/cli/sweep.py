"""`workbench sweep`: vary one or two parameters over lists or ranges of values."""

from __future__ import annotations

import argparse

from workbench.cli.batch import (
    add_batch_options,
    announce,
    batch_status,
    execute_batch,
    with_logprobs,
)
from workbench.cli.command_workspace import open_workspace, services_of
from workbench.cli.exit_status import ExitStatus
from workbench.cli.messages import print_notes
from workbench.cli.output import print_json, run_to_json
from workbench.cli.request_options import (
    add_endpoint_options,
    add_parameter_options,
    add_prompt_options,
    read_parameters,
    read_prompt,
    refuse,
)
from workbench.cli.tables import print_table
from workbench.domain.errors import BadValueError
from workbench.domain.json_values import JsonObject, JsonValue
from workbench.domain.measures import Measure, show_spread
from workbench.domain.parameter_values import format_value
from workbench.domain.prompt import prompt_to_editor
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.domain.sweep import Cell, Sweep, parse_axis
from workbench.runner.compare_plan import Column, grid_remarks
from workbench.runner.resume import sweep_again
from workbench.workspace.grid import Grid, Layout

_MOST_AXES = 2
_EARLIER_NAMES = {"first token": Measure.FIRST_TOKEN.value, "tokens/s": Measure.TOKENS_PER_SECOND.value}
"""Measures by the names that scripts written for earlier versions give them."""


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
        type=lambda name: _EARLIER_NAMES.get(name, name),
        default=Measure.PERPLEXITY.value,
        choices=[measure.value for measure in Measure],
        help="the figure in the table (default: %(default)s)",
    )
    add_endpoint_options(parser)
    add_parameter_options(parser)
    add_batch_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Sweep, print a grid or JSON and return the exit status."""
    services = services_of(arguments)
    axes = tuple(map(parse_axis, arguments.vary))
    if not 1 <= len(axes) <= _MOST_AXES or len({axis.field for axis in axes}) < len(axes):
        raise BadValueError("a sweep varies one or two different fields", hint="Use --vary FIELD=VALUES.")
    if arguments.repeats < 1:
        raise BadValueError("--repeats must be at least 1")
    prompt, endpoint = read_prompt(arguments), services.endpoint
    parameters, problems = read_parameters(arguments, endpoint.limits, endpoint.lenient)
    refuse(problems)
    settings = Column("", endpoint, "", parameters)
    if Measure(arguments.measure).needs_logprobs and all(axis.field != "logprobs" for axis in axes):
        (settings,) = with_logprobs([settings])
    parameters = parameters.set_all(settings.added)
    sweep = Sweep(Request(prompt, arguments.model or endpoint.model, parameters), axes, arguments.repeats)
    with open_workspace(services, arguments.session) as workspace:
        jobs = sweep_again(sweep, endpoint, workspace.session.runs, tuple(settings.added))
        columns = [Column("", endpoint, "", job.run.request.parameters) for job in jobs]
        if not announce(workspace, columns, jobs, arguments):
            return ExitStatus.BAD_ARGUMENTS
        interrupted = execute_batch(workspace, jobs, arguments)
        # Printed before the session is closed, so that a full disk does not lose answers.
        runs = [job.run for job in jobs]
        if arguments.json:
            print_json([_to_json(sweep, *pair) for pair in zip(sweep.cells(), runs, strict=True)])
        else:
            layout = Layout.of_sweep(sweep, prompt_to_editor(prompt))
            _print(Grid(workspace, layout, columns, runs), Measure(arguments.measure), endpoint.name)
            each = len(runs) // len(layout.rows)
            print_notes(grid_remarks([runs[start : start + each] for start in range(0, len(runs), each)]))
        return batch_status(runs, interrupted)


def _to_json(sweep: Sweep, cell: Cell, answer: Run) -> JsonValue:
    vary: JsonObject = {
        axis.field: format_value(value) for axis, value in zip(sweep.axes, cell.values, strict=True)
    }
    return {"vary": vary, "repeat": cell.repeat, **run_to_json(answer)}


def _print(grid: Grid, measure: Measure, endpoint: str) -> None:
    layout = grid.layout
    has_columns = layout.across != Layout.ONE_COLUMN
    table = [
        [
            name,
            *(show_spread(grid.values(row, column, measure)) or "—" for column in range(len(layout.across))),
        ]
        for row, name in enumerate(layout.rows)
    ]
    heads = layout.across if has_columns else (measure.value,)
    print_table(f"{measure.value} of {layout.about}", [layout.corner, *heads], table)
    is_any_answered = any(run.is_answered for run in grid.runs)
    if measure.needs_logprobs and is_any_answered and not grid.means(measure):
        print_notes([f"no answer has a {measure.value}: {endpoint} returned no logprobs"])
