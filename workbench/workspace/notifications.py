"""The notifications a workspace sends to whoever shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from workbench.domain.choice import Choice
from workbench.domain.errors import WorkbenchError
from workbench.domain.run import Run
from workbench.domain.scoring import SecondScoring
from workbench.runner.status import Status
from workbench.workspace.history import ReplaceText


@dataclass(frozen=True, slots=True)
class TextReplaced:
    """A range of the prompt has another text, which its editor does not show yet."""

    change: ReplaceText


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """Parameters, preset, endpoint, model or kind of prompt are others than the panes show."""


@dataclass(frozen=True, slots=True)
class ParametersTyped:
    """The panel's parameters are others now."""


@dataclass(frozen=True, slots=True)
class EndpointProbed:
    """More is known of what the draft's endpoint supports."""


@dataclass(frozen=True, slots=True)
class VariablesChanged:
    """The values of the prompt's variables are others."""


@dataclass(frozen=True, slots=True)
class SessionChanged:
    """Another session is open: draft, runs and all."""

    text: str = ""
    """The file's text where it is not a session."""
    error: WorkbenchError | None = None
    """Why it is none."""
    line: int = 1


@dataclass(frozen=True, slots=True)
class SessionNamed:
    """The open session has another name."""


@dataclass(frozen=True, slots=True)
class RunBegan:
    """A run streams."""

    run: Run


@dataclass(frozen=True, slots=True)
class StatusChanged:
    """A run has another status before its first token."""

    run: Run
    status: Status


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run of those shown is over."""

    run: Run


@dataclass(frozen=True, slots=True)
class RunsAdded:
    """Runs that are over were added after those shown."""

    runs: tuple[Run, ...]
    is_asked: bool = False
    """Whether they were sent here."""


@dataclass(frozen=True, slots=True)
class RunsChanged:
    """Runs were taken out, put back or named."""


@dataclass(frozen=True, slots=True)
class RunSelected:
    """A token of a run is to be shown: the first of its answer where none is named."""

    run: Run
    choice: Choice | None = None
    position: int | None = None


@dataclass(frozen=True, slots=True)
class AnswerScored:
    """Another model scored an answer."""

    second: SecondScoring


@dataclass(frozen=True, slots=True)
class Notice:
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
