"""Deleted sessions: kept in a folder of their own for a while, to be brought back."""

from __future__ import annotations

import os
import re
import uuid
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import Struct

from workbench.storage.files import refused

KEPT = timedelta(days=30)
"""How long a deleted session can be brought back."""

_MOMENT = "%Y%m%dT%H%M%S%f"
_NAME = re.compile(r"(\d{8}T\d{12})-[0-9a-f]{4}-(.+\.toml)", re.DOTALL)
_LONGEST = 200
"""Bytes of a session's file name that are kept; file systems allow 255 with what is put before it."""


class Deleted(Struct, frozen=True):
    """A deleted session."""

    name: str
    """Its file name."""
    when: datetime
    trash: Path


class Trash:
    """One folder of deleted sessions, whose file names say when each was deleted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, path: Path) -> Deleted:
        """Move a session's file here. Raises StorageError; nothing was changed then."""
        now = datetime.now(UTC)
        stem = os.fsencode(path.stem)[:_LONGEST].decode(errors="ignore")
        name = f"{stem}.toml"
        trash = self.folder / f"{now:{_MOMENT}}-{uuid.uuid4().hex[:4]}-{name}"
        move(path, trash)
        return Deleted(name, now, trash)

    def deleted(self) -> list[Deleted]:
        """What can be brought back, the one deleted last first."""
        found: list[Deleted] = []
        with suppress(OSError):
            for path in self.folder.iterdir():
                # A name of digits that are no date is not one of ours.
                with suppress(ValueError):
                    if parts := _NAME.fullmatch(path.name):
                        when = datetime.strptime(parts[1], _MOMENT).replace(tzinfo=UTC)
                        found.append(Deleted(parts[2], when, path))
        return sorted(found, key=lambda deletion: deletion.when, reverse=True)

    def empty_old(self, now: datetime) -> None:
        """Remove for good what was deleted longer ago than `KEPT`."""
        for deleted in self.deleted():
            if now - deleted.when > KEPT:
                with suppress(OSError):
                    deleted.trash.unlink()


def move(source: Path, target: Path) -> None:
    """Move a file, which must not be there under its new name. Raises StorageError; nothing changed then."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)
    except OSError as error:
        hint = "Check the folder's permissions; nothing was changed."
        raise refused(source, "cannot be moved", error, hint) from None
