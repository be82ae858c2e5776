"""The hierarchy of errors that a user may see.

    WorkbenchError
    ├── BadValueError      a field's value is not allowed (names the field)
    ├── EndpointError      an endpoint refused, failed or could not be reached
    ├── EngineError        the embedded engine or its model is missing or died
    ├── StorageError       a file cannot be read or written (names file and line)
    │   └── BusyError      another program is writing it
    └── TemplateError      a chat template is broken or ran out of its limits

Other exceptions must not reach a screen or standard error.
"""

from __future__ import annotations

from dataclasses import dataclass

from workbench.domain.display import one_line, sentences

_LONGEST_TITLE = 500
"""Characters."""
LONGEST_NAME = 80
"""Characters of a file's name in a title."""


@dataclass(eq=False)
class WorkbenchError(Exception):
    """An error to show to the user."""

    title: str
    """What happened, on one line."""
    message: str = ""
    """Details, such as the server's error message; may be empty."""
    hint: str = ""
    """What to do next; may be empty."""

    def __post_init__(self) -> None:
        # The title may contain a file name with control characters.
        self.title = one_line(self.title, _LONGEST_TITLE)

    def __str__(self) -> str:
        return "\n".join(part for part in (self.title, self.message, self.hint) if part)

    @property
    def paragraph(self) -> str:
        """The error as sentences of one paragraph."""
        return sentences(self.title, self.message, self.hint)


@dataclass(eq=False)
class BadValueError(WorkbenchError):
    """A field holds a value that is not allowed."""

    field: str = ""
    """The field's API name."""


@dataclass(eq=False)
class EndpointError(WorkbenchError):
    """An endpoint refused a request, failed while answering, or could not be reached."""

    status: int | None = None
    """HTTP status, if a response was received."""
    request_id: str = ""
    """The provider's request id, for support cases."""
    code: str = ""
    """The provider's error code (`RATE_LIMIT_EXCEEDED`), unchanged."""
    retry_after: float | None = None
    """Seconds to wait, as requested by the provider."""


class EngineError(WorkbenchError):
    """The embedded engine or its model is missing, or it ended unexpectedly."""


@dataclass(eq=False)
class StorageError(WorkbenchError):
    """A file cannot be read or written."""

    path: str = ""
    line: int | None = None
    """The invalid line, counted from 1, if known."""
    key: str = ""
    """The invalid key, as a dotted path (`key.environment`)."""

    @property
    def title_with_path(self) -> str:
        """The title with the file's path, where the title begins with its name."""
        name = one_line(self.path.rpartition("/")[2] or self.path, LONGEST_NAME)
        rest = self.title.removeprefix(name)
        begins = name and rest[:1] in (" ", ":", ",")
        return one_line(self.path, _LONGEST_TITLE) + rest if begins else self.title


class BusyError(StorageError):
    """Another program is writing the file and did not finish in time."""


class TemplateError(WorkbenchError):
    """A chat template is invalid, hostile, or exceeded its limits."""
