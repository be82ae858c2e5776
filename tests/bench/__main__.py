"""`python -m tests.bench [NAME …] [--json | --readme]`: measure, and print a table or JSON."""

from __future__ import annotations

import argparse
import compileall
import importlib
import json
import os
import sys
import time
from dataclasses import asdict

from tests.bench.figure import Figure
from tests.bench.table import BENCHES, README, table, with_figures
from workbench.cli.program import SCREEN_RATE


def main() -> int:
    """Measure what was asked for; 1 where a budget is not met."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(BENCHES)}")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="a list of objects instead of a table")
    forms.add_argument("--readme", action="store_true", help="write the figures into the README's table too")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(BENCHES):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    # As what is installed is compiled, and the peers are: the environment may forbid Python to do it.
    compileall.compile_dir(README.parent / "workbench", quiet=1)
    # As the program does; the benches that measure Textual in this process import it later.
    os.environ.setdefault(*SCREEN_RATE)
    measured: dict[str, list[Figure]] = {}
    for name in arguments.names or BENCHES:
        print(f"measuring {name} …", file=sys.stderr)
        began = time.perf_counter()
        measured[name] = importlib.import_module(f"tests.bench.{name}").figures()
        print(f"{name} took {time.perf_counter() - began:.0f} s", file=sys.stderr)
        if arguments.readme:
            # At once: a bench that fails later takes nothing of this one with it.
            README.write_text(with_figures(README.read_text("utf-8"), {name: measured[name]}), "utf-8")
    figures = [figure for found in measured.values() for figure in found]
    print(json.dumps([asdict(figure) for figure in figures], indent=1) if arguments.json else table(measured))
    return 0 if all(figure.met for figure in figures) else 1


if __name__ == "__main__":
    raise SystemExit(main())
