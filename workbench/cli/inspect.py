"""`workbench inspect`: print a saved run's tokens, for screen readers, plain terminals and scripts."""

from __future__ import annotations

import argparse
from math import log

from workbench.cli.exit_status import ExitStatus
from workbench.cli.messages import print_notes
from workbench.cli.output import print_json, token_to_json
from workbench.cli.parsing import file_name
from workbench.cli.session_files import choose_choice, choose_runs, choose_token, read_session
from workbench.cli.tables import percent_of, print_table, top_choice_cell
from workbench.domain.alternatives import rows_of
from workbench.domain.choice import Choice
from workbench.domain.display import figure, percent, plural, show_bytes, token_text
from workbench.domain.divergence import common_prefix, first_divergence
from workbench.domain.errors import BadValueError
from workbench.domain.figures import coverage, entropy
from workbench.domain.json_values import JsonValue
from workbench.domain.notable_tokens import Thresholds
from workbench.domain.run import Run

_HEADS = ("token", "text", "probability", "rank", "most likely", "top-k mass")
_BYTES = 16
"""The most bytes shown of a token."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("file", type=file_name, metavar="SESSION", help="a session file")
    parser.add_argument("--run", metavar="ID", help="run to print (id prefix or name; default: the newest)")
    parser.add_argument(
        "--choice", type=int, default=1, metavar="K", help="choice of the run, from 1 (default: 1)"
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument(
        "--token", type=int, metavar="N", help="one token, from 1, and its alternatives; else all in a list"
    )
    shown.add_argument(
        "--surprising",
        type=float,
        nargs="?",
        const=0.1,
        metavar="P",
        help="only tokens less likely than P (default: 0.1)",
    )
    shown.add_argument("--against", metavar="RUN", help="where this run and another diverge")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Print the tokens and return the exit status."""
    session = read_session(arguments.file)
    recorded = choose_runs(session, arguments.run)[-1]
    choice = choose_choice(recorded, arguments.choice)
    if arguments.against is not None:
        (other,) = choose_runs(session, arguments.against)
        _diverge((recorded, other), (choice, choose_choice(other, 1)), as_json=arguments.json)
        return ExitStatus.OK
    shown = _chosen_tokens(choice, arguments)
    if arguments.json:
        tokens: list[JsonValue] = [_to_json(choice, index) for index in shown]
        print_json({"run": recorded.id, "choice": choice.index + 1, "tokens": tokens})
    elif arguments.token is not None:
        _print_token(recorded, choice, shown[0])
    else:
        title = f"run {recorded.id[:8]}: {len(shown):,} of {plural(len(choice), 'token')}"
        print_table(title, _HEADS, [_row(choice, index) for index in shown])
    return ExitStatus.OK


def _chosen_tokens(choice: Choice, arguments: argparse.Namespace) -> list[int]:
    if arguments.token is not None:
        return [choose_token(choice, arguments.token)]
    if arguments.surprising is None:
        return list(range(len(choice)))
    if not 0 < arguments.surprising < 1:
        raise BadValueError("--surprising must be between 0 and 1", hint="0.1 is the default.")
    thresholds = Thresholds(surprising=-log(arguments.surprising))
    found = [-1]
    while (index := thresholds.next("surprising", choice, found[-1])) is not None:
        found.append(index)
    return found[1:]


def _row(choice: Choice, index: int) -> tuple[str, ...]:
    token = choice.token(index)
    rank = "—" if token.rank is None else str(token.rank)
    mass = coverage(choice.alternative_logprobs_of(index))
    text = token_text(token.text, token.raw)
    covered = "—" if mass is None else percent(mass)
    return (str(index + 1), text, percent_of(token.logprob), rank, top_choice_cell(token), covered)


def _print_token(recorded: Run, choice: Choice, index: int) -> None:
    token = choice.token(index)
    raw = choice.bytes_of(index)
    identity = "" if token.id is None else f"id {token.id}, "
    shown = show_bytes(raw[:_BYTES]) + "…" * (len(raw) > _BYTES)
    echoed = "prompt " * (index < choice.echoed)
    text = token_text(token.text, token.raw)
    print(f"run {recorded.id[:8]}, {echoed}token {index + 1} of {len(choice)}: {text}")
    print(f"{identity}{plural(len(raw), 'byte')} {shown}")
    if token.logprob is None:
        print("This token has no logprob: set logprobs before the run to get logprobs and alternatives.")
        return
    rank = "" if token.rank is None else f", rank {token.rank}"
    print(f"probability {percent_of(token.logprob)}, logprob {token.logprob:.3f} nats{rank}")
    logprobs = choice.alternative_logprobs_of(index)
    mass, least = coverage(logprobs), entropy(logprobs, choice.listed_top)
    if mass is not None:
        print(f"top-k mass {percent(mass)}, entropy at least {figure(least, '.2f')} nats")
    rows = [
        (
            "" if row.position is None else str(row.position + 1),
            row.label,
            "—" if row.mass is None else percent(row.mass),
            ", ".join(filter(None, ("chosen" * row.is_chosen, row.note))),
        )
        for row in rows_of(token)
    ]
    print_table("", ("number", "text", "probability", "note"), rows)


def _diverge(runs: tuple[Run, Run], choices: tuple[Choice, Choice], *, as_json: bool) -> None:
    shared = common_prefix(choices)
    divergence = first_divergence(choices, shared)
    if as_json:
        tokens: list[JsonValue] = [
            None if divergence is None or shared >= len(choice) else _to_json(choice, shared)
            for choice in choices
        ]
        at = None if divergence is None else shared + 1
        ids = [recorded.id for recorded in runs]
        print_json({"runs": ids, "shared": shared, "diverges_at": at, "tokens": tokens})
        return
    if runs[0].request.prompt != runs[1].request.prompt:
        print_notes(["the prompts differ"])
    where = f"diverges at token {shared + 1}" if divergence is not None else "identical as far as both go"
    print(f"{plural(shared, 'token')} in common; {where}")
    for recorded, choice in zip(runs, choices, strict=True) if divergence is not None else ():
        if shared < len(choice):
            _print_token(recorded, choice, shared)
        else:
            print(f"run {recorded.id[:8]} ended after {plural(shared, 'token')}")


def _to_json(choice: Choice, index: int) -> JsonValue:
    token = choice.token(index)
    logprobs = choice.alternative_logprobs_of(index)
    return {
        "token": index + 1,
        **token_to_json(token),
        "id": token.id,
        "bytes": list(choice.bytes_of(index)),
        "rank": None if token.rank is None else str(token.rank),
        "coverage": coverage(logprobs),
        "entropy_at_least": entropy(logprobs, choice.listed_top),
    }
