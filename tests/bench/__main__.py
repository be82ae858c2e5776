"""`python -m tests.bench [NAME …] [--json]`: measure, and print a table or JSON."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from dataclasses import asdict

from tests.bench.figure import Figure

BENCHES = ("client", "compare", "view", "editor", "chat", "terminal", "sessions", "library", "startup")
"""Each a module beside this one with `figures() -> list[Figure]`."""


def table(figures: list[Figure]) -> str:
    """The figures as a Markdown table."""
    rows = ["| figure | value | peers | goal | met |", "|---|---|---|---|---|"]
    for one in figures:
        peers = ", ".join(f"{name} {value:.4g}" for name, value in one.peers.items()) or "—"
        met = "yes" if one.met else "no"
        rows.append(f"| {one.name} | {one.value:.4g} {one.unit} | {peers} | {one.goal} | {met} |")
    return "\n".join(rows)


def main() -> int:
    """Measure what was asked for; 1 where a budget is not met."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(BENCHES)}")
    parser.add_argument("--json", action="store_true", help="a list of objects instead of a table")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(BENCHES):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    figures: list[Figure] = []
    for name in arguments.names or BENCHES:
        print(f"measuring {name} …", file=sys.stderr)
        figures += importlib.import_module(f"tests.bench.{name}").figures()
    print(json.dumps([asdict(one) for one in figures], indent=1) if arguments.json else table(figures))
    return 0 if all(one.met for one in figures) else 1


if __name__ == "__main__":
    raise SystemExit(main())
