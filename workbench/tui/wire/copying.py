"""The last request as a command or a program that sends it again."""

from __future__ import annotations

import json
from typing import Any

from textual.app import App

from workbench.domain.errors import BadValueError
from workbench.runner.export_formats import ExportedRequest, export_request
from workbench.workspace.activity import Exchange


def copy_request(app: App[Any], exchange: Exchange | None, form: str) -> None:
    """Copy the request in one of `REQUEST_FORMS`. Raises BadValueError where nothing was sent."""
    if exchange is None or not exchange.wire.body:
        raise BadValueError("Nothing has been sent since the start", hint="Run something first.")
    wire, endpoint = exchange.wire, exchange.endpoint
    copy_exported(app, export_request(form, json.loads(wire.body), endpoint, wire.url))


def copy_exported(app: App[Any], request: ExportedRequest) -> None:
    """Copy a request alone, so that it can be pasted and sent, and say what has to be done before."""
    app.copy_to_clipboard(request.text)
    if request.note:
        app.notify(request.note, markup=False, timeout=8)
