"""`workbench tree`: print, name and prune the runs of a session as a tree of branches."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from workbench.cli.exit_status import ExitStatus
from workbench.cli.output import print_json
from workbench.cli.parsing import file_name
from workbench.cli.session_files import choose_runs, open_for_writing, read_session
from workbench.cli.tables import print_table
from workbench.domain.choice import Choice
from workbench.domain.display import figure, one_line
from workbench.domain.json_values import JsonValue
from workbench.domain.measures import summarise
from workbench.domain.run import Run
from workbench.domain.run_choices import shown_choice
from workbench.domain.run_tree import branches, subtree, tree_lines
from workbench.domain.session import Session

_BEGINNING = 40
"""The most tokens of an answer shown in a row."""
_HEADS = ("run", "where", "tokens", "perplexity", "mean logprob", "outcome")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("file", type=file_name, metavar="FILE", help="a session file")
    parser.add_argument("--name", nargs=2, metavar=("RUN", "NAME"), help="name a run; '' removes the name")
    parser.add_argument("--prune", metavar="RUN", help="remove a run and its branches")
    parser.add_argument("--json", action="store_true", help="print a list of objects instead of a table")


def run(arguments: argparse.Namespace) -> int:
    """Print the tree, after naming or pruning a run if requested, and return the exit status."""
    if arguments.name or arguments.prune:
        with open_for_writing(arguments.file) as keeper:
            if arguments.name:
                (named,) = choose_runs(keeper.session, arguments.name[0])
                keeper.name_run(named, arguments.name[1])
            if arguments.prune:
                (root,) = choose_runs(keeper.session, arguments.prune)
                for pruned in subtree(keeper.session.runs, root):
                    keeper.remove(pruned)
    session = read_session(arguments.file)
    if arguments.json:
        print_json([_to_json(depth, recorded) for depth, recorded in branches(session.runs)])
    else:
        print_table(session.title, _HEADS, _rows(session))
    return ExitStatus.OK


def _rows(session: Session) -> list[tuple[str, ...]]:
    tree = list(branches(session.runs))
    lines = tree_lines([depth for depth, _ in tree])
    return [_row(line, recorded) for line, (_, recorded) in zip(lines, tree, strict=True)]


def _row(line: str, recorded: Run) -> tuple[str, ...]:
    choice = shown_choice(recorded.ordered)
    summary = None if choice is None else summarise(recorded, choice)
    name = f" {one_line(recorded.name, 40)}" if recorded.name else ""
    many = f" ×{len(recorded.choices)}" if len(recorded.choices) > 1 else ""
    return (
        f"{line}{recorded.id[:8]}{name}{many} {_beginning(recorded, choice)}",
        _where(recorded),
        "—" if summary is None else str(summary.tokens),
        figure(None if summary is None else summary.perplexity, ".2f"),
        figure(None if summary is None else summary.mean_logprob, ".3f"),
        recorded.outcome.value if recorded.outcome is not None else "—",
    )


def _beginning(recorded: Run, choice: Choice | None) -> str:
    taken = recorded.parent.alternative if recorded.parent is not None else ""
    answer = "" if choice is None else "".join(choice.texts(choice.echoed, choice.echoed + _BEGINNING))
    return one_line(repr(taken + answer), 60)


def _where(recorded: Run) -> str:
    if recorded.parent is None:
        return ""
    at = f" at {recorded.parent.token + 1}" if recorded.parent.kind == "branch" else ""
    return f"{recorded.parent.kind}{at}"


def _to_json(depth: int, recorded: Run) -> JsonValue:
    choice = shown_choice(recorded.ordered)
    summary = None if choice is None else summarise(recorded, choice)
    return {
        "run": recorded.id,
        "depth": depth,
        "name": recorded.name or None,
        "parent": None if recorded.parent is None else asdict(recorded.parent),
        "choices": len(recorded.choices),
        "text": "" if choice is None else choice.text,
        "tokens": None if summary is None else summary.tokens,
        "perplexity": None if summary is None else summary.perplexity,
        "mean_logprob": None if summary is None else summary.mean_logprob,
        "outcome": recorded.outcome.value if recorded.outcome is not None else None,
    }
