"""Giving the variables of a prompt their values: in a form, or from a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from textual.app import App

from workbench.domain.display import escaped, unescaped
from workbench.domain.errors import BadValueError
from workbench.storage.variable_files import load_variables
from workbench.tui.screens.form import Entry, Form
from workbench.workspace.history import Change, Changes
from workbench.workspace.keeper import Keeper


def edit_variables(
    app: App[int],
    names: Iterable[str],
    keeper: Keeper,
    changes: Changes,
    on_change: Callable[[], object],
) -> None:
    """Ask for the values of variables, which the session keeps and a change of which can be undone.

    Those that have a value though no prompt names them are offered too. `on_change` is told afterwards.
    """
    values = keeper.session.variables
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

    def put(wanted: Mapping[str, str]) -> None:
        keeper.keep_variables(wanted)
        on_change()

    def take(answer: Mapping[str, str] | None) -> None:
        if answer is not None:
            put(answer)
            changes.record(Change("the variables", lambda: put(values), lambda: put(answer)))

    app.push_screen(Form("Variables · \\n is a line's end", entries, read, exact=True), take)
