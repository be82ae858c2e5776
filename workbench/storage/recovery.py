"""Recover the sidecars of closed windows, and repair an incomplete append to a session file."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from workbench.domain.display import plural
from workbench.domain.errors import StorageError
from workbench.domain.run import Run
from workbench.domain.session import Draft
from workbench.storage.files import write_atomically
from workbench.storage.journal import Recovered, read_journal
from workbench.storage.run_format import run_to_toml
from workbench.storage.session_file import torn_at
from workbench.storage.sidecars import StoredDraft, read_draft, short_name


class Found(Struct, frozen=True):
    """The recovered data; the sidecars are kept until `forget()`."""

    notes: tuple[str, ...]
    runs: tuple[Run, ...]
    draft: Draft | None
    """The session's draft, as left by its last owner."""
    spare_drafts: tuple[Draft, ...]
    spare_paths: tuple[Path, ...]
    repaired: bool
    """Whether the end of the file was truncated."""
    _done: tuple[Path, ...]

    def forget(self) -> None:
        """Delete the sidecars whose content has been saved elsewhere."""
        for path in self._done:
            with suppress(OSError):
                path.unlink()


def recover(
    path: Path, raw: bytes, orphans: list[Path], error: StorageError | None, stored: Collection[str]
) -> Found:
    """Read the sidecars of closed windows, and truncate an append that they did not finish.

    `error` is the parse error of the file, if any; `stored` are the ids of the runs known to be in it. The
    caller must hold the file's lock. Raises OSError or StorageError.
    """
    journals = [(orphan, read_journal(orphan)) for orphan in orphans if orphan.suffix == ".run"]
    found = (journal for _, journal in journals if journal is not None)
    recovered = sorted(found, key=lambda journal: journal.run.started)
    repairs = _repair(path, raw, recovered, error)
    notes = repairs + [_note(journal) for journal in recovered if journal.run.id not in stored]
    read = [(orphan, read_draft(orphan)) for orphan in orphans if orphan.suffix == ".draft"]
    drafts = [(orphan, stored) for orphan, stored in read if stored is not None]
    owned = [orphan for orphan, stored in drafts if stored.owned]
    owned.sort(key=lambda orphan: orphan.stat().st_mtime_ns)
    stored_by_path: dict[Path, StoredDraft] = dict(drafts)
    spare = [orphan for orphan, stored in drafts if not stored.owned]
    if owned:
        notes.append("recovered the draft as it was last edited")
    if spare:
        notes.append(f"found {plural(len(spare), 'more draft')} of a second window")
    return Found(
        tuple(notes),
        tuple(journal.run for journal in recovered),
        stored_by_path[owned[-1]].draft if owned else None,
        tuple(stored_by_path[orphan].draft for orphan in spare),
        tuple(spare),
        bool(repairs),
        (*(orphan for orphan, _ in journals), *owned),
    )


def _note(journal: Recovered) -> str:
    what = "a finished run" if journal.ended else "a run that was streaming"
    return f"recovered {what}: {plural(journal.run.tokens, 'token')}"


def _repair(path: Path, raw: bytes, recovered: list[Recovered], error: StorageError | None) -> list[str]:
    for journal in recovered:
        if journal.offset is not None and journal.offset < len(raw):
            tail, whole = raw[journal.offset :].replace(b"\r", b""), run_to_toml(journal.run).encode()
            if len(tail) < len(whole) and whole.startswith(tail):
                os.truncate(path, journal.offset)
                return ["repaired the end of the file, where a run was written in part"]
    end = raw.count(b"\n") + 1
    mark = torn_at(raw) if error is not None and error.line is not None and error.line >= end - 1 else None
    if mark is None:
        return []
    kept = path.with_name(f"{short_name(path.name)}.torn-{datetime.now(UTC):%Y%m%d-%H%M%S}")
    write_atomically(kept, raw[mark:])
    os.truncate(path, mark)
    return [f"repaired the end of the file, where a run was written in part; it is kept in {kept.name}"]
