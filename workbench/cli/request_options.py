"""Options of the command line for parameters, prompts and endpoints."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from workbench.cli.parsing import file_name, unicode_text
from workbench.domain.errors import BadValueError, StorageError
from workbench.domain.json_values import JsonValue, parse_json
from workbench.domain.parameter_table import PARAMETERS, Field, Kind, ParameterValue, Range
from workbench.domain.parameter_values import parse_value
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import Prompt, TextPrompt, TokensPrompt, join_prompts, parse_ids
from workbench.storage.files import decode_text, read_text


def option_of(field: Field) -> str:
    """Return a field's option: `--top-p` for `top_p`."""
    return f"--{field.name.replace('_', '-')}"


def add_prompt_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for prompts of any kind."""
    group = parser.add_argument_group("prompt")
    group.add_argument(
        "--prompt", action="append", metavar="TEXT", help="the prompt; repeat it for a list of prompts"
    )
    group.add_argument(
        "--prompt-file",
        type=file_name,
        action="append",
        metavar="FILE",
        help="read a prompt from a file; - is standard input",
    )
    group.add_argument(
        "--prompt-ids", action="append", metavar="IDS", help='a prompt as token ids, "1,2,3"; repeatable'
    )


def endpoint_name(text: str) -> str:
    """The `type` of an endpoint option. Raises ArgumentTypeError if the name is empty."""
    if not text.strip():
        raise argparse.ArgumentTypeError("no endpoint is named (a variable may not be set)")
    return unicode_text(text)


def add_endpoint_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that select endpoint, model and key."""
    group = parser.add_argument_group("endpoint")
    group.add_argument(
        "--endpoint",
        type=endpoint_name,
        metavar="NAME|URL",
        help="an endpoint's name or base URL (default: local)",
    )
    group.add_argument("--model", default="", metavar="NAME", help="the model to ask for")
    group.add_argument(
        "--api-key-env",
        metavar="NAME",
        help="send the key that this environment variable holds (for a bare URL)",
    )


def add_parameter_options(parser: argparse.ArgumentParser) -> None:
    """Add one option for each field of the parameter table, and `--extra`."""
    group = parser.add_argument_group("parameters (unset ones are not sent)")
    for field in PARAMETERS:
        described = f"{field.help}{f' [{field.range}]' if field.range else ''} Default: {field.unset}."
        described = described.replace("%", "%%")
        match field.kind:
            case Kind.SWITCH:
                group.add_argument(
                    option_of(field), action=argparse.BooleanOptionalAction, default=None, help=described
                )
            case Kind.TEXTS:
                group.add_argument(option_of(field), action="append", metavar="TEXT", help=described)
            case Kind.BIASES:
                group.add_argument(option_of(field), action="append", metavar="ID=BIAS", help=described)
            case _:
                group.add_argument(option_of(field), metavar="X", help=described)
    group.add_argument(
        "--extra",
        action="append",
        default=[],
        metavar="KEY=JSON",
        help="any other field of the request body; repeatable",
    )


def read_prompt(arguments: argparse.Namespace) -> Prompt:
    """Return the prompt given by the options.

    Raises BadValueError if there is none or a file cannot be read.
    """
    texts = [TextPrompt(text) for text in arguments.prompt or []]
    texts += [TextPrompt(_read_file(name)) for name in arguments.prompt_file or []]
    lists = [TokensPrompt(parse_ids(ids)) for ids in arguments.prompt_ids or []]
    if texts and lists:
        raise BadValueError("--prompt-ids cannot be mixed with --prompt or --prompt-file", field="prompt")
    if not texts and not lists:
        raise BadValueError(
            "no prompt given",
            hint="Use --prompt TEXT, --prompt-file FILE or --prompt-ids IDS.",
            field="prompt",
        )
    return join_prompts((*texts, *lists))


def read_parameters(
    arguments: argparse.Namespace, limits: Mapping[str, Range], lenient: bool
) -> tuple[Parameters, list[str]]:
    """Return the parameters given by the options, and one line per problem, with the allowed range.

    With `lenient`, ranges are left to the endpoint, and only values of the wrong type are problems.
    """
    values: dict[str, ParameterValue] = {}
    problems: list[BadValueError] = []
    for field in PARAMETERS:
        given = getattr(arguments, field.name)
        if given is None:
            continue
        try:
            values[field.name] = _value(field, given)
        except BadValueError as problem:
            problems.append(problem)
    extra: dict[str, JsonValue] = {}
    for pair in arguments.extra:
        try:
            key, value = _extra(pair)
            extra[key] = value
        except BadValueError as problem:
            problems.append(problem)
    parameters = Parameters(values, extra)
    if not lenient:
        problems += parameters.problems(limits)
    return parameters, [explain(problem, limits) for problem in problems]


def refuse(problems: Iterable[str]) -> None:
    """Raise BadValueError with the distinct problems, one per line, if there are any."""
    if lines := dict.fromkeys(problems):
        raise BadValueError("\n".join(lines))


def explain(problem: BadValueError, limits: Mapping[str, Range]) -> str:
    """Return a problem of an argument as one line with the option and its range."""
    field = next((parameter for parameter in PARAMETERS if parameter.name == problem.field), None)
    if field is None:
        return f"{problem.title}. {problem.hint}".strip()
    allowed = limits.get(field.name, field.range)
    shown = f" (allowed: {allowed})" if allowed is not None and str(allowed) not in problem.title else ""
    return f"{option_of(field)}: {problem.title.removeprefix(f'{field.name}: ')}{shown}"


def _value(field: Field, given: bool | str | list[str]) -> ParameterValue:
    if isinstance(given, bool):
        return given
    if isinstance(given, str):
        return parse_value(field, given)
    if field.kind is Kind.TEXTS:
        return tuple(given)
    return parse_value(field, " ".join(given))


def _extra(pair: str) -> tuple[str, JsonValue]:
    key, equals, text = pair.partition("=")
    if not key or not equals:
        raise BadValueError(f"--extra {pair}: is not KEY=JSON", field="extra")
    try:
        value = parse_json(text, is_strict=True)
    except ValueError as error:
        raise BadValueError(f"--extra {key}: the value is not JSON: {error}", field="extra") from None
    return key, value


def read_input(name: str) -> str:
    """Read the text of a file, or of standard input if the name is `-`. Raises StorageError."""
    if name == "-":
        return decode_text(sys.stdin.buffer.read(), Path("stdin"))
    return read_text(Path(name), is_pipe_allowed=True)


def _read_file(name: str) -> str:
    try:
        return read_input(name)
    except StorageError as problem:
        title = f"--prompt-file: {problem.title_with_path}"
        raise BadValueError(title, problem.message, field="prompt") from None
