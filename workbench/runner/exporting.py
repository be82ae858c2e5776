"""The forms in which a session is handed to somebody else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workbench.domain.run import Run
from workbench.domain.session import Session
from workbench.storage.export import session_to_json_lines, to_markdown, to_text
from workbench.storage.export_pictures import to_html, to_svg


@dataclass(frozen=True, slots=True)
class SessionForm:
    """A form that holds a whole session."""

    title: str
    help: str
    suffix: str
    """The ending of a file's name."""
    write: Callable[[Session], str]


@dataclass(frozen=True, slots=True)
class RunForm:
    """A form that holds one run."""

    title: str
    help: str
    suffix: str
    write: Callable[[Run], str]


SESSION_FORMS: Mapping[str, SessionForm] = {
    "markdown": SessionForm("Markdown", "to read and to paste", ".md", to_markdown),
    "jsonl": SessionForm(
        "JSON Lines", "one run a line, with the API's names", ".jsonl", session_to_json_lines
    ),
    "html": SessionForm("HTML", "one page; alternatives where the pointer rests", ".html", to_html),
    "text": SessionForm("Text", "prompts and answers alone", ".txt", to_text),
}
"""By the word that the command line takes."""
RUN_FORMS: Mapping[str, RunForm] = {
    "svg": RunForm("SVG", "a picture of one run's answers in their colours", ".svg", to_svg)
}
"""By the word that the command line takes."""
