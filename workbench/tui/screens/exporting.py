"""Writing the session, or the run under the cursor, in a form that others read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

from textual.app import App

from workbench.domain.display import one_line
from workbench.domain.errors import StorageError
from workbench.domain.run import Run
from workbench.domain.session import Session
from workbench.runner.exporting import RUN_FORMS, SESSION_FORMS
from workbench.storage.atomic import write_atomically
from workbench.storage.library import safe_name
from workbench.tui.screens.naming import Naming
from workbench.tui.screens.popup import Item, Picker
from workbench.tui.screens.question import Question


def export(app: App[int], session: Session, run: Run, own: Path | None) -> None:
    """Let a person choose form and file; `own` is the session's own file, which is never replaced."""

    def chosen(word: str | None) -> None:
        if word is None:
            return
        if (form := SESSION_FORMS.get(word)) is not None:
            make, suffix = partial(form.write, session), form.suffix
        else:
            make, suffix = partial(RUN_FORMS[word].write, run), RUN_FORMS[word].suffix
        name = f"{safe_name(session.title or (own.stem if own is not None else ''))}{suffix}"
        app.push_screen(Naming("Export to the file", name), lambda typed: named(typed, make))

    def named(typed: str | None, make: Callable[[], str]) -> None:
        if typed is None:
            return
        path = Path(typed).expanduser()
        try:
            exists = path.exists()
            is_own = exists and own is not None and own.exists() and path.samefile(own)
        except OSError as error:
            told = f"{one_line(str(path), 80)}: {error.strerror or error}"
            app.notify(told, title="Export", severity="error", markup=False)
            return
        if is_own:
            app.notify("That is the session itself.", title="Export", severity="error", markup=False)
        elif exists:
            question = Question(f"Replace the file {one_line(str(path), 60)}?", "replace", "leave it")
            app.push_screen(question, lambda yes: write(path, make) if yes else None)
        else:
            write(path, make)

    def write(path: Path, make: Callable[[], str]) -> None:
        app.run_worker(_write(app, path, make), group="export")

    items = [Item(word, form.title, form.help) for word, form in SESSION_FORMS.items()]
    items += [Item(word, form.title, form.help) for word, form in RUN_FORMS.items()]
    app.push_screen(Picker("Export as", items), chosen)


async def _write(app: App[int], path: Path, make: Callable[[], str]) -> None:
    try:
        await asyncio.to_thread(lambda: write_atomically(path, make().encode("utf-8", "replace")))
    except StorageError as problem:
        app.notify(str(problem), title="Export", severity="error", markup=False, timeout=10)
    else:
        app.notify(f"Wrote {one_line(str(path), 80)}.", markup=False, timeout=3)
