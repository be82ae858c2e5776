"""`workbench compare`: presets side by side on one or many prompts."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from workbench.cli.arguments import (
    add_endpoint_options,
    add_parameter_options,
    add_prompt_options,
    explain,
    read_parameters,
    read_prompt,
    refuse,
)
from workbench.cli.batch import (
    add_batch_options,
    announce,
    batch_status,
    execute_batch,
    with_logprobs,
)
from workbench.cli.command_workspace import open_workspace, services_of
from workbench.cli.compare_saved import compare_saved
from workbench.cli.compare_table import print_compared
from workbench.cli.exit_status import ExitStatus
from workbench.cli.output import print_json, run_to_json
from workbench.cli.parsing import file_name, naming_files
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.json_values import JsonValue
from workbench.domain.preset import Preset
from workbench.domain.prompt import Prompt, TextPrompt, prompt_to_editor, single_prompts
from workbench.domain.request import Parameters
from workbench.domain.run import Run
from workbench.runner.compare_plan import Column, overlay
from workbench.runner.resume import compare_again
from workbench.storage.endpoint_list import EndpointList, endpoint_for
from workbench.storage.folders import Folders
from workbench.storage.presets import load_presets
from workbench.storage.prompt_sets import read_prompts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_prompt_options(parser)
    parser.add_argument(
        "--prompts", type=file_name, metavar="FILE", help="a prompt set: a text, JSON Lines or CSV file"
    )
    parser.add_argument(
        "--column", default="", metavar="NAME", help="prompt column (default: prompt or text)"
    )
    parser.add_argument(
        "--preset", action="append", default=[], metavar="NAME", help="a preset to compare; repeat it"
    )
    parser.add_argument(
        "--at",
        action="append",
        default=[],
        metavar="NAME|URL[=MODEL]",
        help="compare at this endpoint, with this model; repeat it: every preset is sent to each",
    )
    parser.add_argument(
        "--runs",
        type=file_name,
        nargs="+",
        metavar="FILE#RUN",
        help="compare saved runs (id prefixes or names) instead; nothing is sent",
    )
    add_endpoint_options(parser)
    add_parameter_options(parser)
    add_batch_options(parser)
    parser.add_argument(
        "--any-seed", action="store_true", help="use a different random seed for each request"
    )


def run(arguments: argparse.Namespace) -> int:
    """Compare, and print a table or JSON; returns the exit status."""
    if arguments.runs:
        return compare_saved(arguments.runs, as_json=arguments.json)
    services = services_of(arguments)
    endpoint, endpoints = services.endpoint, services.endpoints
    prompts = _prompts(arguments)
    presets = _presets(arguments.preset, services.folders)
    places = [_place(text, arguments, endpoints) for text in arguments.at]
    if len(presets) * max(len(places), 1) < 2:
        raise BadValueError(
            "a comparison needs at least two columns",
            hint="Repeat --preset NAME, or --at ENDPOINT=MODEL.",
        )
    # Ranges are those of the columns' endpoints.
    typed, problems = read_parameters(arguments, endpoint.limits, lenient=True)
    columns = [_column(preset, typed, arguments, endpoint, endpoints) for preset in presets]
    if places:
        columns = [_at(column, *place) for column in columns for place in places]
    problems += [
        explain(problem, column.endpoint.limits)
        for column in columns
        if not column.endpoint.lenient
        for problem in column.parameters.problems(column.endpoint.limits)
    ]
    refuse(problems)
    columns = with_logprobs(columns)
    with open_workspace(services, arguments.session) as workspace:
        jobs = compare_again(prompts, columns, workspace.session.runs, any_seed=arguments.any_seed)
        runs = [job.run for job in jobs]
        if not announce(workspace, columns, jobs, arguments):
            return ExitStatus.BAD_ARGUMENTS
        interrupted = execute_batch(workspace, jobs, arguments)
        # Before the session is closed: a disk that is full takes no answer away.
        if arguments.json:
            print_json([_to_json(run) for run in runs])
        else:
            for number, prompt in enumerate(prompts):
                row = runs[number * len(columns) : (number + 1) * len(columns)]
                print_compared(prompt_to_editor(prompt), "preset", columns, row)
        return batch_status(runs, interrupted)


def _prompts(arguments: argparse.Namespace) -> tuple[Prompt, ...]:
    if arguments.prompts:
        return tuple(map(TextPrompt, read_prompts(Path(arguments.prompts), arguments.column)))
    return single_prompts(read_prompt(arguments))


def _presets(names: Sequence[str], folders: Folders) -> list[Preset]:
    loaded = load_presets(folders)
    with naming_files():
        return [loaded.named(name) for name in names]


def _column(
    preset: Preset,
    typed: Parameters,
    arguments: argparse.Namespace,
    endpoint: Endpoint,
    endpoints: EndpointList,
) -> Column:
    if preset.endpoint and not arguments.endpoint:
        endpoint = endpoint_for(preset.endpoint, arguments.api_key_env, endpoints)
    model = arguments.model or preset.model
    return Column(preset.name, endpoint, model, overlay(preset.parameters, typed), preset.name)


def _place(text: str, arguments: argparse.Namespace, endpoints: EndpointList) -> tuple[Endpoint, str]:
    name, _, model = text.partition("=")
    return endpoint_for(name, arguments.api_key_env, endpoints), model


def _at(column: Column, endpoint: Endpoint, model: str) -> Column:
    """A column at another endpoint, whose title says so."""
    model = model or endpoint.model
    place = f"{model} @ {endpoint.name}" if model else endpoint.name
    return replace(column, title=f"{column.title} · {place}", endpoint=endpoint, model=model)


def _to_json(run: Run) -> JsonValue:
    return {**run_to_json(run), "preset": run.preset, "endpoint": run.endpoint, "request": run.request.body()}
