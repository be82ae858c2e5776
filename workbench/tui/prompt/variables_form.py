"""The form in which the variables of a prompt are given their values, or taken from a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from workbench.domain.display import escaped, unescaped
from workbench.domain.errors import BadValueError
from workbench.storage.variable_files import load_variables
from workbench.tui.popups.form import Form, FormLine


def variables_form(names: Iterable[str], values: Mapping[str, str]) -> Form[Mapping[str, str]]:
    """Asks for the values of variables, also of those that have one though no prompt names them."""
    known = [*dict.fromkeys([*names, *values])] or [""]
    entries = [FormLine("from a file (TOML or JSON)", "", "path, or empty")]
    entries += [
        FormLine(
            f"{{{{{name}}}}}" if name else "no {{name}} in the prompt yet: NAME=VALUE",
            escaped(values.get(name, "")),
        )
        for name in known
    ]
    return Form("Variables · \\n is a line's end", entries, partial(_read, known), exact=True)


def _read(known: Sequence[str], lines: Sequence[str]) -> Mapping[str, str]:
    given = {name: unescaped(line) for name, line in zip(known, lines[1:], strict=True) if name and line}
    if "" in known and lines[1]:
        name, equals, value = lines[1].partition("=")
        if not name or not equals:
            raise BadValueError("This is not NAME=VALUE", hint="Such as place=the harbour.")
        given[name] = unescaped(value)
    if path := lines[0].strip():
        return {**given, **load_variables(Path(path).expanduser())}
    return given
