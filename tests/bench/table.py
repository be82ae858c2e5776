"""The figures as a Markdown table: all of those just measured, and the one in the README."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.bench.figure import Figure

BENCHES = (
    "client",
    "compare",
    "columns",
    "growth",
    "view",
    "editor",
    "chat",
    "terminal",
    "sessions",
    "library",
    "server",
    "check",
    "startup",
)
"""Each a module beside this one with `figures() -> list[Figure]`."""

README = Path(__file__).parents[2] / "README.md"
_HEAD = ("| bench | figure | value | peers in the same run | goal | met |", "|---|---|---|---|---|---|")
_BEGIN, _END = "<!-- figures -->\n", "<!-- end of figures -->\n"


def table(measured: Mapping[str, Sequence[Figure]]) -> str:
    """The figures of each bench by its name."""
    return _table((bench, _row(bench, figure)) for bench in measured for figure in measured[bench])


def in_readme(readme: str) -> list[tuple[str, str]]:
    """The benches that the README has figures of, each with one of its rows, top to bottom."""
    return list(_rows(_parts(readme)[1]))


def with_figures(readme: str, measured: Mapping[str, Sequence[Figure]]) -> str:
    """The README with these figures in the places of the same benches' old ones."""
    before, old, after = _parts(readme)
    kept = [(bench, row) for bench, row in _rows(old) if bench not in measured]
    new = [(bench, _row(bench, figure)) for bench in measured for figure in measured[bench]]
    rows = [row for row in kept + new if row[0] in BENCHES]
    rows.sort(key=lambda row: BENCHES.index(row[0]))
    return f"{before}{_BEGIN}{_table(rows)}\n{_END}{after}"


def _parts(readme: str) -> tuple[str, str, str]:
    before, begin, rest = readme.partition(_BEGIN)
    old, end, after = rest.partition(_END)
    if not (begin and end):
        raise ValueError(f"the README has no place for figures: {_BEGIN.strip()} … {_END.strip()}")
    return before, old, after


def _rows(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        if line.startswith("| ") and line not in _HEAD:
            yield line.split("|")[1].strip(), line


def _table(rows: Iterable[tuple[str, str]]) -> str:
    return "\n".join((*_HEAD, *(row for _, row in rows)))


def _row(bench: str, figure: Figure) -> str:
    peers = ", ".join(f"{name} {_number(value)}" for name, value in figure.peers.items()) or "—"
    met = "yes" if figure.met else "no"
    value = f"{_number(figure.value)} {figure.unit}"
    return f"| {bench} | {figure.name} | {value} | {peers} | {figure.goal} | {met} |"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
