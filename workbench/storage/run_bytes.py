"""Single runs among the bytes of a session's file, cut out and put in so that all others stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workbench.domain.run import Run
from workbench.storage.run_format import RUN_MARK, run_to_toml


def without_run(body: bytes, run: Run) -> bytes | None:
    """The runs of a file without one; None where that one is not written as this program writes it."""
    # No text holds these bytes by chance: they have quotation marks, which a text escapes.
    before, found, after = body.partition(run_to_toml(run).encode())
    return before + after if found else None


def with_run(body: bytes, run: Run, following: Run | None) -> bytes | None:
    """The runs of a file with one more before another, or last; None where that other is not found."""
    data = run_to_toml(run).encode()
    if following is None:
        return body + data
    before, found, after = body.partition(run_to_toml(following).encode())
    return before + data + found + after if found else None


def with_order(body: bytes, runs: Sequence[Run]) -> bytes | None:
    """The runs of a file with some in this order, at their places; None where one is not found."""
    parts = body.split(RUN_MARK)
    found = {part: place for place, part in enumerate(parts)}
    texts = [run_to_toml(run).encode().removeprefix(RUN_MARK) for run in runs]
    if not found.keys() >= set(texts):
        return None
    for place, text in zip(sorted(found[text] for text in texts), texts, strict=True):
        parts[place] = text
    return RUN_MARK.join(parts)


def with_name(body: bytes, run: Run, was: str) -> bytes | None:
    """The runs of a file with one under its new name; None where it is not found under the old one."""
    before, found, after = body.partition(run_to_toml(replace(run, name=was)).encode())
    return before + run_to_toml(run).encode() + after if found else None
