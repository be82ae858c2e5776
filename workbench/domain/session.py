"""Sessions: the draft in the editor and the panel, and all runs."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import NamedTuple

from workbench.domain.conversation import Chat
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import PromptKind
from workbench.domain.run import Run


class Draft(NamedTuple):
    """The contents of the editor and the panel."""

    endpoint: str = ""
    """Name of the endpoint."""
    model: str = ""
    preset: str = ""
    """Name of the preset that the parameters were taken from."""
    prompt: str = ""
    """The editor's exact text, which may not be a valid prompt of its kind."""
    kind: PromptKind = PromptKind.TEXT
    parameters: Parameters = Parameters()
    turn: str = ""
    """The text in the conversation's composer."""
    other: Mapping[str, object] = MappingProxyType({})
    """Session file keys unknown to this version, kept unchanged."""


@dataclass(slots=True)
class Session:
    """The contents of a session file."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    title: str = ""
    """Name given by the user, or empty."""
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    tags: tuple[str, ...] = ()
    draft: Draft = field(default_factory=Draft)
    runs: list[Run] = field(default_factory=list)
    """In the order in which they ended; runs sent together are in the order requested."""
    chat: Chat = field(default_factory=Chat)
    variables: Mapping[str, str] = field(default_factory=dict)
    """Values of the prompt's variables by name."""
    other: Mapping[str, object] = field(default_factory=dict)
    """Session file keys unknown to this version, kept unchanged."""

    def run(self, run_id: str) -> Run | None:
        """Return the run with an id, or None."""
        return next((run for run in self.runs if run.id == run_id), None)


def in_order(runs: Sequence[Run], ids: Sequence[str]) -> list[Run]:
    """Reorder the runs named by `ids` among the positions that they occupy."""
    wanted = frozenset(ids)
    named = {run.id: run for run in runs if run.id in wanted}
    ordered = iter([named[id] for id in ids if id in named])
    return [next(ordered) if run.id in named else run for run in runs]
