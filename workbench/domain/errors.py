"""The one tree of errors that a person may see.

    WorkbenchError
    ├── BadValueError      a field's value is not allowed (names the field)
    ├── EndpointError      an endpoint refused, failed or could not be reached
    ├── EngineError        the embedded engine or its model is missing or died
    ├── StorageError       a file cannot be read or written (names file and line)
    │   └── BusyError      another program is writing it
    └── TemplateError      a chat template is broken or ran out of its limits

Nothing below the root leaks to a screen or to standard error.
"""

from __future__ import annotations

from dataclasses import dataclass

from workbench.domain.display import one_line

_LONGEST_TITLE = 500
"""Characters."""


@dataclass(eq=False)
class WorkbenchError(Exception):
    """An error to show: what happened, in whose words, and what to do next."""

    title: str
    """One line that names what happened."""
    message: str = ""
    """The words of whoever refused, or the detail; empty where the title says it all."""
    hint: str = ""
    """What to do next; empty where nothing helps."""

    def __post_init__(self) -> None:
        # A name of a file in it may hold anything.
        self.title = one_line(self.title, _LONGEST_TITLE)

    def __str__(self) -> str:
        return "\n".join(part for part in (self.title, self.message, self.hint) if part)


@dataclass(eq=False)
class BadValueError(WorkbenchError):
    """A field holds a value that is not allowed."""

    field: str = ""
    """The field's name, as the API spells it."""


@dataclass(eq=False)
class EndpointError(WorkbenchError):
    """An endpoint refused a request, failed while answering, or could not be reached."""

    status: int | None = None
    """HTTP status, where an answer came."""
    request_id: str = ""
    """The provider's own id of the request, for its support."""
    code: str = ""
    """The provider's own name of the error (`RATE_LIMIT_EXCEEDED`), as it came."""
    retry_after: float | None = None
    """Seconds the provider asks to wait."""


class EngineError(WorkbenchError):
    """The embedded engine or its model is missing, or it ended unexpectedly."""


@dataclass(eq=False)
class StorageError(WorkbenchError):
    """A file cannot be read or written as asked."""

    path: str = ""
    """The file at fault."""
    line: int | None = None
    """The line at fault, counted from 1, where one is known."""
    key: str = ""
    """The key at fault, with the names of its tables before it (`key.environment`)."""


class BusyError(StorageError):
    """Another program is writing the file, and did not finish in time."""


class TemplateError(WorkbenchError):
    """A chat template is broken, hostile, or ran out of its limits."""
