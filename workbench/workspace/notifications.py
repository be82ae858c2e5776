"""The notifications a workspace sends to whoever shows it."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from workbench.domain.choice import Choice
from workbench.domain.errors import WorkbenchError
from workbench.domain.run import Run
from workbench.domain.scoring import SecondScoring
from workbench.runner.status import Status
from workbench.workspace.undo_history import ReplaceText


class TextReplaced(Struct, frozen=True):
    """A range of the prompt has another text, which its editor does not show yet."""

    change: ReplaceText


class SettingsChanged(Struct, frozen=True):
    """Parameters, preset, endpoint, model or kind of prompt are others than the panes show."""


class ParametersTyped(Struct, frozen=True):
    """The panel's parameters are others now."""


class EndpointProbed(Struct, frozen=True):
    """More is known of what the draft's endpoint supports."""


class VariablesChanged(Struct, frozen=True):
    """The values of the prompt's variables are others."""


class SessionChanged(Struct, frozen=True):
    """Another session is open: draft, runs and all."""

    text: str = ""
    """The file's text where it is not a session."""
    error: WorkbenchError | None = None
    """Why it is none."""
    line: int = 1


class SessionNamed(Struct, frozen=True):
    """The open session has another name."""


class RunBegan(Struct, frozen=True):
    """A run streams."""

    run: Run


class StatusChanged(Struct, frozen=True):
    """A run has another status before its first token."""

    run: Run
    status: Status


class RunEnded(Struct, frozen=True):
    """A run of those shown is over."""

    run: Run


class RunsAdded(Struct, frozen=True):
    """Runs that are over were added after those shown."""

    runs: tuple[Run, ...]
    is_sent_here: bool = False
    """Whether they were sent here."""


class RunsChanged(Struct, frozen=True):
    """Runs were taken out, put back or named."""


class RunSelected(Struct, frozen=True):
    """A token of a run is to be shown: the first of its answer where none is named."""

    run: Run
    choice: Choice | None = None
    position: int | None = None


class AnswerScored(Struct, frozen=True):
    """Another model scored an answer."""

    second: SecondScoring


class Notice(Struct, frozen=True):
    """Something that a person should know."""

    words: str
    title: str = ""
    is_error: bool = False


Notification: TypeAlias = (
    TextReplaced
    | SettingsChanged
    | ParametersTyped
    | EndpointProbed
    | VariablesChanged
    | SessionChanged
    | SessionNamed
    | RunBegan
    | StatusChanged
    | RunEnded
    | RunsAdded
    | RunsChanged
    | RunSelected
    | AnswerScored
    | Notice
)
