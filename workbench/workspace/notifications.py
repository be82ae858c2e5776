"""The notifications that a workspace sends to its subscribers."""

from __future__ import annotations

from msgspec import Struct

from workbench.domain.choice import Choice
from workbench.domain.errors import WorkbenchError
from workbench.domain.run import Run
from workbench.domain.scoring import SecondScoring
from workbench.runner.run_status import Status
from workbench.workspace.undo_history import ReplaceText


class Notification(Struct, frozen=True):
    """Base class of the notifications."""


class TextReplaced(Notification, frozen=True):
    """A range of the prompt was replaced, which its editor does not show yet."""

    change: ReplaceText


class SettingsChanged(Notification, frozen=True):
    """Parameters, preset, endpoint, model or prompt kind changed, which the panes do not show yet."""


class ParametersTyped(Notification, frozen=True):
    """The parameters were changed in the panel."""


class EndpointProbed(Notification, frozen=True):
    """More capabilities of the draft's endpoint are known."""


class VariablesChanged(Notification, frozen=True):
    """The values of the prompt's variables changed."""


class SessionChanged(Notification, frozen=True):
    """Another session was opened."""

    text: str = ""
    """Text of the file if it is not a valid session."""
    error: WorkbenchError | None = None
    """Why the file is not a valid session."""
    line: int = 1


class SessionNamed(Notification, frozen=True):
    """The open session was renamed."""


class RunBegan(Notification, frozen=True):
    """A run was sent."""

    run: Run


class StatusChanged(Notification, frozen=True):
    """The status of a run before its first token changed."""

    run: Run
    status: Status


class RunEnded(Notification, frozen=True):
    """A run of the main screen ended."""

    run: Run


class RunsAdded(Notification, frozen=True):
    """Finished runs were appended."""

    runs: tuple[Run, ...]
    is_sent_here: bool = False
    """Whether this process sent them."""


class RunsChanged(Notification, frozen=True):
    """Runs were removed, restored, inserted, reordered or renamed."""


class RunSelected(Notification, frozen=True):
    """A token of a run is to be shown; without `choice` and `position`, the first of its answer."""

    run: Run
    choice: Choice | None = None
    position: int | None = None


class AnswerScored(Notification, frozen=True):
    """Another model scored an answer."""

    second: SecondScoring


class Notice(Notification, frozen=True):
    """A message for the person."""

    message: str
    title: str = ""
    is_error: bool = False
