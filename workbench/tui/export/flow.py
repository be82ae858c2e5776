"""Export the session, or the run under the cursor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from workbench.domain.display import one_line
from workbench.domain.errors import BadValueError, StorageError
from workbench.runner.export_formats import RUN_FORMS, SESSION_FORMS
from workbench.storage.files import write_atomically
from workbench.storage.sessions_folder import safe_name
from workbench.tui.flows import FlowContext
from workbench.tui.popups.picker import Item, Picker


async def export(flow: FlowContext) -> None:
    """Choose a format and a file. Raises BadValueError if the session has no finished run."""
    over = [run for run in flow.workspace.runs if not run.is_running]
    if not over:
        raise BadValueError("The session has no finished run", hint="Run something first.")
    selected, own = flow.workspace.runs.selected, flow.workspace.keeper.path
    run = selected.run if selected is not None and selected.run in over else over[-1]
    session = replace(flow.workspace.keeper.session, runs=over)
    items = [Item(word, form.title, form.help) for word, form in SESSION_FORMS.items()]
    items += [Item(word, form.title, form.help) for word, form in RUN_FORMS.items()]
    if (word := await flow.ask(Picker("Export as", items))) is None:
        return
    if (form := SESSION_FORMS.get(word)) is not None:
        make, suffix = partial(form.write, session), form.suffix
    else:
        make, suffix = partial(RUN_FORMS[word].write, run), RUN_FORMS[word].suffix
    name = f"{safe_name(session.title or (own.stem if own is not None else ''))}{suffix}"
    try:
        if (path := await flow.ask_file("Export to the file", name, own)) is None:
            return
        await asyncio.to_thread(_write, path, make)
    except StorageError as problem:
        flow.fail(problem, "Export")
    else:
        flow.app.notify(f"Wrote {one_line(str(path), 80)}.", timeout=3)


def _write(path: Path, make: Callable[[], str]) -> None:
    write_atomically(path, make().encode("utf-8", "replace"))
