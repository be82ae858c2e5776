"""The notifications a workspace sends to whoever shows it."""

from __future__ import annotations

from msgspec import Struct

from workbench.domain.choice import Choice
from workbench.domain.errors import WorkbenchError
from workbench.domain.run import Run
from workbench.domain.scoring import SecondScoring
from workbench.runner.status import Status
from workbench.workspace.undo_history import ReplaceText


class Notification(Struct, frozen=True):
    """Something that happened."""


class TextReplaced(Notification, frozen=True):
    """A range of the prompt has another text, which its editor does not show yet."""

    change: ReplaceText


class SettingsChanged(Notification, frozen=True):
    """Parameters, preset, endpoint, model or kind of prompt are others than the panes show."""


class ParametersTyped(Notification, frozen=True):
    """The panel's parameters are others now."""


class EndpointProbed(Notification, frozen=True):
    """More is known of what the draft's endpoint supports."""


class VariablesChanged(Notification, frozen=True):
    """The values of the prompt's variables are others."""


class SessionChanged(Notification, frozen=True):
    """Another session is open: draft, runs and all."""

    text: str = ""
    """The file's text where it is not a session."""
    error: WorkbenchError | None = None
    """Why it is none."""
    line: int = 1


class SessionNamed(Notification, frozen=True):
    """The open session has another name."""


class RunBegan(Notification, frozen=True):
    """A run streams."""

    run: Run


class StatusChanged(Notification, frozen=True):
    """A run has another status before its first token."""

    run: Run
    status: Status


class RunEnded(Notification, frozen=True):
    """A run of those shown is over."""

    run: Run


class RunsAdded(Notification, frozen=True):
    """Runs that are over were added after those shown."""

    runs: tuple[Run, ...]
    is_sent_here: bool = False
    """Whether they were sent here."""


class RunsChanged(Notification, frozen=True):
    """Runs were taken out, put back or named."""


class RunSelected(Notification, frozen=True):
    """A token of a run is to be shown: the first of its answer where none is named."""

    run: Run
    choice: Choice | None = None
    position: int | None = None


class AnswerScored(Notification, frozen=True):
    """Another model scored an answer."""

    second: SecondScoring


class Notice(Notification, frozen=True):
    """Something that a person should know."""

    words: str
    title: str = ""
    is_error: bool = False
