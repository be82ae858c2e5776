"""The trash: deleted sessions, kept for a while."""

from __future__ import annotations

import os
import re
import uuid
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import Struct

from workbench.storage.files import file_error

KEPT = timedelta(days=30)
"""How long deleted sessions are kept."""

_MOMENT = "%Y%m%dT%H%M%S%f"
_NAME = re.compile(r"(\d{8}T\d{12})-[0-9a-f]{4}-(.+\.toml)", re.DOTALL)
_LONGEST = 200
"""Maximum bytes kept of a session's file name: with the prefix it must fit into 255 bytes."""


class Deleted(Struct, frozen=True):
    """A deleted session."""

    name: str
    """Its file name."""
    when: datetime
    trash: Path


class Trash:
    """A folder of deleted sessions, with the time of deletion in their file names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, path: Path) -> Deleted:
        """Move a session's file here. Raises StorageError; the file is then unchanged."""
        now = datetime.now(UTC)
        stem = os.fsencode(path.stem)[:_LONGEST].decode(errors="ignore")
        name = f"{stem}.toml"
        trash = self.folder / f"{now:{_MOMENT}}-{uuid.uuid4().hex[:4]}-{name}"
        move(path, trash)
        return Deleted(name, now, trash)

    def deleted(self) -> list[Deleted]:
        """Return the deleted sessions, most recently deleted first."""
        found: list[Deleted] = []
        with suppress(OSError):
            for path in self.folder.iterdir():
                # A ValueError means that the digits are not a date: the file is not from this program.
                with suppress(ValueError):
                    if parts := _NAME.fullmatch(path.name):
                        when = datetime.strptime(parts[1], _MOMENT).replace(tzinfo=UTC)
                        found.append(Deleted(parts[2], when, path))
        return sorted(found, key=lambda deletion: deletion.when, reverse=True)

    def empty_old(self, now: datetime) -> None:
        """Permanently delete sessions that were deleted more than `KEPT` before `now`."""
        for deleted in self.deleted():
            if now - deleted.when > KEPT:
                with suppress(OSError):
                    deleted.trash.unlink()


def move(source: Path, target: Path) -> None:
    """Move a file; the target must not exist. Raises StorageError; the file is then unchanged."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)
    except OSError as error:
        hint = "Check the folder's permissions; nothing was changed."
        raise file_error(source, "cannot be moved", error, hint) from None
