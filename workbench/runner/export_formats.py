"""Export formats of sessions, runs and requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from workbench.client.urls import normalise
from workbench.domain.endpoint import LOCAL, SERVE_PORT, Endpoint, EnvironmentKey
from workbench.domain.json_values import JsonObject
from workbench.domain.run import Run
from workbench.domain.session import Session
from workbench.storage.export_curl import KEY_VARIABLE, to_curl, to_python
from workbench.storage.export_html_svg import to_html, to_svg
from workbench.storage.export_text import to_markdown, to_text
from workbench.storage.json_lines import to_json_lines

_Exported = TypeVar("_Exported", Session, Run)


@dataclass(frozen=True, slots=True)
class FileForm(Generic[_Exported]):
    """A file format of a whole session or of one run."""

    title: str
    help: str
    suffix: str
    """Suffix of the file name."""
    write: Callable[[_Exported], str]


SESSION_FORMS: Mapping[str, FileForm[Session]] = {
    "markdown": FileForm("Markdown", "to read and to paste", ".md", to_markdown),
    "jsonl": FileForm("JSON Lines", "one run a line, with the API's names", ".jsonl", to_json_lines),
    "html": FileForm("HTML", "one page; alternatives on hover", ".html", to_html),
    "text": FileForm("Text", "prompts and answers alone", ".txt", to_text),
}
"""Formats of sessions, by their name on the command line."""
RUN_FORMS: Mapping[str, FileForm[Run]] = {
    "svg": FileForm("SVG", "a picture of one run's answers in their colours", ".svg", to_svg)
}
"""Formats of runs, by their name on the command line."""
REQUEST_FORMS = {"curl": to_curl, "python": to_python}
"""Formats of a single request, by their name on the command line."""


@dataclass(frozen=True, slots=True)
class ExportedRequest:
    """A request in one of `REQUEST_FORMS`."""

    text: str
    note: str = ""
    """Preparation that the request needs; empty for none."""

    @property
    def with_comment(self) -> str:
        """The text, preceded by the note as a comment."""
        return f"# {self.note}\n{self.text}" if self.note else self.text


def export_request(form: str, body: JsonObject, endpoint: Endpoint, url: str) -> ExportedRequest:
    """Export a request in one of `REQUEST_FORMS`, reading its API key from the environment.

    Requests to `local` are exported for `workbench serve`, as the port and key of the local server change
    with every start.
    """
    write = REQUEST_FORMS[form]
    if endpoint.name == LOCAL:
        address = f"http://127.0.0.1:{SERVE_PORT}/v1/completions"
        note = f"Start the local server first: workbench serve --port {SERVE_PORT}"
        return ExportedRequest(write(body, address, key_header="", headers=endpoint.headers), note)
    header = endpoint.key_header if endpoint.key is not None else ""
    text = write(body, url, key_variable(endpoint), key_header=header, headers=endpoint.headers)
    return ExportedRequest(text)


def export_run(
    form: str, run: Run, endpoint: Endpoint, bodies: Iterable[JsonObject]
) -> list[ExportedRequest]:
    """Export request bodies of a saved run, using the model that answered it unless a body names one."""
    model: JsonObject = {"model": run.model or endpoint.model} if run.model or endpoint.model else {}
    url = "" if endpoint.name == LOCAL else normalise(endpoint.base_url).completions
    return [export_request(form, {**model, **body}, endpoint, url) for body in bodies]


def key_variable(endpoint: Endpoint) -> str:
    """Return the environment variable from which an exported request reads the API key."""
    return endpoint.key.variable if isinstance(endpoint.key, EnvironmentKey) else KEY_VARIABLE
