"""Print every string in `workbench` that a person may read: `python -m tests.strings [FOLDER …]`.

Docstrings, names of keys and actions, styles and patterns are left out; what is left is to be read as an
editor reads it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent / "workbench"
_WORD = re.compile(r"[A-Za-z’']{2,}")
_PROSE = re.compile(r"[A-Za-z’']{2,}[ ,.:;·…][^\n]*[A-Za-z’']{2,}|^[A-Z][a-z]+$|^[A-Z][a-z’ ]+[.!?…]$")
_CODE = re.compile(r"^[\w.:#/$%-]+$|[{};]\s*$|^\s*[.#]?[\w-]+\s*\{|\$[a-z]+-|^(bold|dim|reverse)\b")
"""A single name, a rule of a style sheet, or a style."""


def strings_of(source: str) -> Iterator[tuple[int, str]]:
    """The line and text of each literal that reads as words, those of an f-string joined by `{}`."""
    tree = ast.parse(source)
    skipped = {id(docstring) for docstring in _docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in ast.walk(node) if isinstance(part, ast.Constant)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            text = node.value
        else:
            continue
        if is_read(text):
            yield node.lineno, text


def is_read(text: str) -> bool:
    """Whether a literal reads as words and not as code."""
    if _CODE.search(text.strip()) and not re.fullmatch(r"[A-Z][a-z]+", text.strip()):
        return False
    return bool(_WORD.search(text) and _PROSE.search(text.strip()))


def _docstrings(tree: ast.AST) -> Iterator[ast.Constant]:
    """Every string that stands alone as a statement: docstrings, also those below an attribute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def main(folders: list[str]) -> None:
    """Print the strings of these folders under `workbench`, of all where none is named."""
    for folder in folders or [""]:
        for path in sorted((ROOT / folder).rglob("*.py")):
            found = sorted(strings_of(path.read_text(encoding="utf-8")))
            for line, text in found:
                print(f"{path.relative_to(ROOT.parent)}:{line}: {text!r}")


if __name__ == "__main__":
    main(sys.argv[1:])
