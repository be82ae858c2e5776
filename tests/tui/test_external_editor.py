"""A text edited in another program comes back exactly, or a sentence says why not, with the screen back."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from textual.app import App

from workbench.domain.errors import StorageError, WorkbenchError
from workbench.tui.editor.external_editor import edited_text

NASTY = "a\u2028b\rc\x0cd\x85e\x0bf\tg  \r\nh\x1b[31m\x00\u202e\u2029\x1c \n"


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave nothing that is kept for the user in the system's folder."""
    monkeypatch.setattr(tempfile, "tempdir", os.fspath(tmp_path))


class Handed(App[int]):
    """An application on a terminal that can be handed over; like Textual's, an exception keeps it so."""

    is_handed_over = False

    @contextmanager
    def suspend(self) -> Iterator[None]:
        self.is_handed_over = True
        yield
        self.is_handed_over = False


async def edit_text(app: App[int], text: str, environment: dict[str, str]) -> str:
    async with edited_text(app, text, environment) as edited:
        return edited


def script(folder: Path, body: str) -> dict[str, str]:
    path = folder / "edit me"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"EDITOR": f"'{path}'"}


async def test_another_editors_text_is_read_back_exactly(tmp_path: Path) -> None:
    edited = await edit_text(Handed(), NASTY + "end", script(tmp_path, r"printf '\r\014 x ' >> $1"))
    assert edited == NASTY + "end\r\x0c x "


async def test_a_newline_that_an_editor_adds_at_the_end_is_not_kept(tmp_path: Path) -> None:
    assert await edit_text(Handed(), "a", script(tmp_path, "echo b >> $1")) == "ab"


async def test_a_byte_order_mark_that_an_editor_adds_is_not_kept(tmp_path: Path) -> None:
    marks = script(tmp_path, r"printf '\357\273\277b' > $1")
    assert await edit_text(Handed(), "a", marks) == "b"
    assert await edit_text(Handed(), "\ufeffa", marks) == "\ufeffb"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("echo kept > $1; exit 3", "ended with exit status 3"),
        ("kill -HUP $$", "ended with signal SIGHUP"),
        ("rm $1", "cannot be read"),
        (r"printf '\377' > $1", "not UTF-8"),
    ],
)
async def test_an_editor_that_fails_is_an_error(tmp_path: Path, body: str, why: str) -> None:
    app = Handed()
    with pytest.raises(WorkbenchError, match=why):
        await edit_text(app, "draft", script(tmp_path, body))
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
async def test_an_editor_that_cannot_start_is_an_error_and_the_screen_is_back(
    environment: dict[str, str], why: str
) -> None:
    app = Handed()
    with pytest.raises(WorkbenchError, match=why):
        await edit_text(app, "draft", environment)
    assert not app.is_handed_over


def left_behind(name: Path) -> dict[str, str]:
    """Text by path of what is in the folder of the file that the editor was given, which is removed."""
    folder = Path(name.read_text().strip()).parent
    texts = {str(path): path.read_text() for path in folder.iterdir()} if folder.exists() else {}
    shutil.rmtree(folder, ignore_errors=True)
    return texts


async def test_an_editor_that_returns_at_once_keeps_the_file_for_its_window(tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError, match="returned at once") as raised:
        await edit_text(Handed(), "draft", script(tmp_path, f"echo $1 > {tmp_path}/name"))
    ((path, text),) = left_behind(tmp_path / "name").items()
    assert text == "draft"
    assert path in str(raised.value) and "--wait" in str(raised.value)


@pytest.mark.parametrize("body", ["echo b >> $1", "exit 3", "kill -HUP $$"])
async def test_a_file_that_was_edited_or_is_unchanged_is_not_left_behind(body: str, tmp_path: Path) -> None:
    with suppress(WorkbenchError):
        await edit_text(Handed(), "draft", script(tmp_path, f"echo $1 > {tmp_path}/name; {body}"))
    assert not left_behind(tmp_path / "name")


@pytest.mark.parametrize("body", ["kill -HUP $$", "exit 3", "mv $1 $1.swp"])
async def test_what_an_editor_saved_before_it_failed_is_kept_and_named(body: str, tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError) as raised:
        await edit_text(
            Handed(), "draft", script(tmp_path, f"echo $1 > {tmp_path}/name; printf kept > $1; {body}")
        )
    ((path, text),) = left_behind(tmp_path / "name").items()
    assert text == "kept"
    assert path.removesuffix(".swp") in str(raised.value)


async def test_a_text_that_cannot_be_used_is_kept_and_named(tmp_path: Path) -> None:
    environment = script(tmp_path, f"printf typed > $1; echo $1 > {tmp_path}/name")
    with pytest.raises(StorageError) as raised:
        async with edited_text(Handed(), "draft", environment):
            raise StorageError("config.toml cannot be written", "No space left on device", "Free some space.")
    ((path, text),) = left_behind(tmp_path / "name").items()
    assert text == "typed"
    assert raised.value.hint.startswith("Free some space. ") and path in raised.value.hint


async def test_a_full_temporary_folder_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, raw: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    with pytest.raises(WorkbenchError, match=r"cannot be written\nNo space left on device\n.*TMPDIR"):
        await edit_text(Handed(), "draft", {"EDITOR": "true"})
