"""`workbench compare`: compare presets on one or more prompts, or saved runs of session files."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

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
from workbench.cli.parsing import file_name, naming_files, refuse_unused
from workbench.cli.request_options import (
    add_endpoint_options,
    add_parameter_options,
    add_prompt_options,
    explain,
    read_parameters,
    read_prompt,
    refuse,
)
from workbench.cli.session_files import choose_runs
from workbench.cli.tables import SUMMARY_HEADS, distribution, percent_of, print_table, summary_cells
from workbench.domain.display import one_line, plural
from workbench.domain.divergence import Divergence, common_prefix, distinguishing, first_divergence
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.json_values import JsonValue
from workbench.domain.measures import summarise
from workbench.domain.parameter_table import PARAMETERS
from workbench.domain.parameters import Parameters
from workbench.domain.preset import Preset
from workbench.domain.prompt import Prompt, TextPrompt, prompt_to_editor, single_prompts
from workbench.domain.regression_case import ReportedToken
from workbench.domain.run import Run
from workbench.domain.scoring import are_scorings
from workbench.domain.session import Session
from workbench.runner.compare_plan import Column, SavedRun, overlay, remarks, saved_column, saved_remarks
from workbench.runner.resume import compare_again
from workbench.storage.endpoint_list import EndpointList, endpoint_for, load_endpoints
from workbench.storage.files import Folders
from workbench.storage.presets import load_presets
from workbench.storage.prompt_sets import read_prompts
from workbench.storage.session_file import read_runs


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
    """Compare, print a table or JSON and return the exit status."""
    _refuse_unused_options(arguments)
    if arguments.runs:
        return compare_saved(arguments.runs, as_json=arguments.json)
    services = services_of(arguments)
    endpoint, endpoints = services.endpoint, services.endpoints
    prompts = _prompts(arguments)
    presets = _presets(arguments.preset, services.folders)
    targets = [_target(text, arguments, endpoints) for text in arguments.at]
    if len(presets) * max(len(targets), 1) < 2:
        raise BadValueError(
            "a comparison needs at least two columns",
            hint="Repeat --preset NAME, or --at ENDPOINT=MODEL.",
        )
    # Ranges are checked later, by the endpoint of each column.
    typed, problems = read_parameters(arguments, endpoint.limits, lenient=True)
    columns = [_column(preset, typed, arguments, endpoint, endpoints) for preset in presets]
    if targets:
        columns = [_at(column, *target) for column in columns for target in targets]
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
        # Printed before the session is closed, so that a full disk does not lose answers.
        if arguments.json:
            print_json([_to_json(run) for run in runs])
        else:
            for number, prompt in enumerate(prompts):
                row = runs[number * len(columns) : (number + 1) * len(columns)]
                print_compared(prompt_to_editor(prompt), "preset", columns, row)
        return batch_status(runs, interrupted)


def _refuse_unused_options(arguments: argparse.Namespace) -> None:
    prompts = ("prompt", "prompt_file", "prompt_ids")
    if arguments.runs:
        names = (*prompts, "prompts", "column", "preset", "at", "any_seed", "session", "endpoint", "model")
        fields = (field.name for field in PARAMETERS)
        refuse_unused(arguments, (*names, *fields, "extra"), "has no effect on saved runs (--runs)")
    elif arguments.prompts:
        refuse_unused(arguments, prompts, "cannot be mixed with --prompts")
    else:
        refuse_unused(arguments, ("column",), "is for the file of --prompts")


def _prompts(arguments: argparse.Namespace) -> tuple[Prompt, ...]:
    if arguments.prompts:
        with naming_files():
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


def _target(text: str, arguments: argparse.Namespace, endpoints: EndpointList) -> tuple[Endpoint, str]:
    name, _, model = text.partition("=")
    return endpoint_for(name, arguments.api_key_env, endpoints), model


def _at(column: Column, endpoint: Endpoint, model: str) -> Column:
    """Return the column for another endpoint, with the endpoint in its title."""
    model = model or endpoint.model
    address = f"{model} @ {endpoint.name}" if model else endpoint.name
    return replace(column, title=f"{column.title} · {address}", endpoint=endpoint, model=model)


def _to_json(run: Run) -> JsonValue:
    return {**run_to_json(run), "preset": run.preset, "endpoint": run.endpoint, "request": run.request.body()}


def print_compared(title: str, head: str, columns: Sequence[Column], runs: Sequence[Run]) -> None:
    """Print a table with one row per run, and the divergence; `head` is the title of the first column."""
    differs = distinguishing([column.parameters for column in columns])
    cells = [
        [_title(column, fields), *_answer(run, column.endpoint)]
        for column, fields, run in zip(columns, differs, runs, strict=True)
    ]
    print_table(title, [head, *SUMMARY_HEADS, "text"], cells)
    shared, divergence = agreement(runs)
    if divergence is not None and not are_scorings(runs):
        _print_divergence(shared, divergence, [column.title for column in columns])
    print_notes(remarks(runs))


def agreement(runs: Sequence[Run]) -> tuple[int, Divergence | None]:
    """Return the number of leading tokens that the runs' first choices share, and their divergence."""
    choices = [run.ordered[0] for run in runs if run.choices]
    if len(choices) < max(len(runs), 2):
        return 0, None
    shared = common_prefix(choices)
    return shared, first_divergence(choices, shared)


def _print_divergence(shared: int, divergence: Divergence, titles: Sequence[str]) -> None:
    print(f"{plural(shared, 'token')} in common; diverges at token {divergence.position + 1}:")
    width = max(map(len, titles))
    for title, token in zip(titles, divergence.tokens, strict=True):
        shown = distribution(ReportedToken.of(token), percent_of)
        print(f"  {one_line(title, 40):{min(width, 40)}}  {shown}")
    print()


def _title(column: Column, differs: Sequence[str]) -> str:
    return f"{column.title} ({', '.join(differs)})" if differs else column.title


def _answer(run: Run, endpoint: Endpoint) -> list[str]:
    if run.error is not None or not run.choices:
        shown = run.error.title if run.error is not None else str(run.outcome)
        return ["—"] * len(SUMMARY_HEADS) + [one_line(shown, 60)]
    choice = run.ordered[0]
    return [*summary_cells(run, summarise(run, choice, endpoint.prices)), one_line(choice.text, 60)]


def compare_saved(wanted: Sequence[str], *, as_json: bool) -> int:
    """Compare the runs named by `FILE` or `FILE#RUN`, print a table or JSON and return the exit status.

    Raises BadValueError for fewer than two runs, and StorageError for a missing file or run.
    """
    saved = [named for text in wanted for named in _named(text)]
    if len(saved) < 2:
        raise BadValueError("a comparison needs at least two runs", hint="Use --runs FILE#RUN FILE#RUN.")
    runs = [entry.run for entry in saved]
    if as_json:
        print_json(_saved_to_json(saved))
    else:
        endpoints = load_endpoints(Folders.default(os.environ))
        columns = [saved_column(entry, endpoints) for entry in saved]
        prompts = dict.fromkeys(prompt_to_editor(run.request.prompt) for run in runs)
        print_compared(next(iter(prompts)) if len(prompts) == 1 else "", "run", columns, runs)
        print_notes(saved_remarks(runs))
    return ExitStatus.OK


def _named(text: str) -> Iterator[SavedRun]:
    name, _, run = text.rpartition("#")
    # A file name may contain "#".
    if not name or Path(text).exists():
        name, run = text, ""
    path = Path(name)
    for recorded in choose_runs(Session(runs=read_runs(path)), run or None):
        yield SavedRun(f"{path.stem}#{recorded.name or recorded.id[:8]}", recorded)


def _saved_to_json(saved: Sequence[SavedRun]) -> JsonValue:
    runs: list[Run] = [entry.run for entry in saved]
    shared, divergence = agreement(runs)
    return {
        "shared_tokens": shared,
        "first_difference": None if divergence is None else divergence.position,
        "runs": [
            {"title": entry.title, **run_to_json(entry.run), "request": entry.run.request.body()}
            for entry in saved
        ],
    }
