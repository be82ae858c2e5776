"""Giving the variables of a prompt their values: in a form, or from a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from textual.app import App

from workbench.domain.display import escaped, unescaped
from workbench.domain.errors import BadValueError
from workbench.storage.variable_files import load_variables
from workbench.tui.screens.form import Entry, Form


def edit_variables(
    app: App[int],
    names: Iterable[str],
    values: Mapping[str, str],
    take: Callable[[Mapping[str, str]], None],
) -> None:
    """Ask for the values of variables; those in `values` that no prompt names are offered too."""
    known = [*dict.fromkeys([*names, *values])]
    if not known:
        known = [""]
    entries = [Entry("from a file (TOML or JSON)", "", "path, or empty")]
    entries += [
        Entry(
            f"{{{{{name}}}}}" if name else "no {{name}} in the prompt yet: NAME=VALUE",
            escaped(values.get(name, "")),
        )
        for name in known
    ]

    def read(lines: Sequence[str]) -> Mapping[str, str]:
        given = {name: unescaped(line) for name, line in zip(known, lines[1:], strict=True) if name and line}
        if "" in known and lines[1]:
            name, equals, value = lines[1].partition("=")
            if not name or not equals:
                raise BadValueError("This is not NAME=VALUE", hint="Such as place=the harbour.")
            given[name] = unescaped(value)
        if path := lines[0].strip():
            return {**given, **load_variables(Path(path).expanduser())}
        return given

    app.push_screen(
        Form("Variables · \\n is a line's end", entries, read, exact=True),
        lambda answer: take(answer) if answer is not None else None,
    )
