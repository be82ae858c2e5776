"""A text edited in another program comes back exactly, or a sentence says why not, with the screen back."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from textual.app import App

from workbench.domain.errors import WorkbenchError
from workbench.tui.editor.external_editor import edit_text

NASTY = "a\u2028b\rc\x0cd\x85e\x0bf\tg  \r\nh\x1b[31m\x00\u202e\u2029\x1c \n"


class Handed(App[int]):
    """An application on a terminal that can be handed over; like Textual's, an exception keeps it so."""

    is_handed_over = False

    @contextmanager
    def suspend(self) -> Iterator[None]:
        self.is_handed_over = True
        yield
        self.is_handed_over = False


def script(folder: Path, body: str) -> dict[str, str]:
    path = folder / "edit me"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"EDITOR": f"'{path}'"}


def test_another_editors_text_is_read_back_exactly(tmp_path: Path) -> None:
    edited = edit_text(Handed(), NASTY + "end", script(tmp_path, r"printf '\r\014 x ' >> $1"))
    assert edited == NASTY + "end\r\x0c x "


def test_a_newline_that_an_editor_adds_at_the_end_is_not_kept(tmp_path: Path) -> None:
    assert edit_text(Handed(), "a", script(tmp_path, "echo b >> $1")) == "ab"


def test_a_byte_order_mark_that_an_editor_adds_is_not_kept(tmp_path: Path) -> None:
    marks = script(tmp_path, r"printf '\357\273\277b' > $1")
    assert edit_text(Handed(), "a", marks) == "b"
    assert edit_text(Handed(), "\ufeffa", marks) == "\ufeffb"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("echo lost > $1; exit 3", "ended with code 3"),
        ("rm $1", "cannot be read"),
        (r"printf '\377' > $1", "not UTF-8"),
    ],
)
def test_an_editor_that_fails_is_an_error(tmp_path: Path, body: str, why: str) -> None:
    app = Handed()
    with pytest.raises(WorkbenchError, match=why):
        edit_text(app, "draft", script(tmp_path, body))
    assert not app.is_handed_over


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        ({}, "No editor is set"),
        ({"EDITOR": "no-such-editor --wait"}, "no-such-editor did not start"),
        ({"EDITOR": "/"}, "/ did not start"),
        ({"EDITOR": "/etc/passwd"}, "/etc/passwd did not start"),
        ({"EDITOR": "'x"}, "not a command"),
    ],
)
def test_an_editor_that_cannot_start_is_an_error_and_the_screen_is_back(
    environment: dict[str, str], why: str
) -> None:
    app = Handed()
    with pytest.raises(WorkbenchError, match=why):
        edit_text(app, "draft", environment)
    assert not app.is_handed_over


def test_an_editor_that_returns_at_once_keeps_the_file_for_its_window(tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError, match="returned at once") as raised:
        edit_text(Handed(), "draft", script(tmp_path, f"echo $1 > {tmp_path}/name"))
    kept = Path((tmp_path / "name").read_text().strip())
    assert kept.read_text() == "draft"
    assert str(kept) in str(raised.value) and "--wait" in str(raised.value)
    kept.unlink()
    kept.parent.rmdir()


def test_a_file_that_was_edited_is_not_left_behind(tmp_path: Path) -> None:
    edit_text(Handed(), "draft", script(tmp_path, f"echo b >> $1; echo $1 > {tmp_path}/name"))
    assert not Path((tmp_path / "name").read_text().strip()).parent.exists()
