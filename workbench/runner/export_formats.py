"""The forms in which a session is handed to somebody else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workbench.domain.endpoint import LOCAL, SERVE_PORT, Endpoint, EnvironmentKey
from workbench.domain.json_values import JsonObject
from workbench.domain.run import Run
from workbench.domain.session import Session
from workbench.storage.export_pictures import to_html, to_svg
from workbench.storage.export_text import (
    KEY_VARIABLE,
    to_curl,
    to_json_lines,
    to_markdown,
    to_python,
    to_text,
)


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
    "jsonl": SessionForm("JSON Lines", "one run a line, with the API's names", ".jsonl", to_json_lines),
    "html": SessionForm("HTML", "one page; alternatives on hover", ".html", to_html),
    "text": SessionForm("Text", "prompts and answers alone", ".txt", to_text),
}
"""By the word that the command line takes."""
RUN_FORMS: Mapping[str, RunForm] = {
    "svg": RunForm("SVG", "a picture of one run's answers in their colours", ".svg", to_svg)
}
"""By the word that the command line takes."""
REQUEST_FORMS = {"curl": to_curl, "python": to_python}
"""Forms that send one request again, by the word that the command line takes."""


def export_request(form: str, body: JsonObject, endpoint: Endpoint, url: str) -> str:
    """A request in one of `REQUEST_FORMS`, its key read from the environment.

    The server of `local` has a key and a port that change with every start: its requests go to
    `workbench serve`.
    """
    write = REQUEST_FORMS[form]
    if endpoint.name == LOCAL:
        address = f"http://127.0.0.1:{SERVE_PORT}/v1/completions"
        comment = f"Start the local server first: workbench serve --port {SERVE_PORT}"
        return write(body, address, key_header="", headers=endpoint.headers, comment=comment)
    header = endpoint.key_header if endpoint.key is not None else ""
    return write(body, url, key_variable(endpoint), key_header=header, headers=endpoint.headers)


def key_variable(endpoint: Endpoint) -> str:
    """The environment variable that an exported request reads the endpoint's key from."""
    return endpoint.key.variable if isinstance(endpoint.key, EnvironmentKey) else KEY_VARIABLE
