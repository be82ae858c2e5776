"""A folder whose file system refuses locks, by whatever error: runs are kept, shared and recovered."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path

import pytest

from tests.cli.in_process import serving_beside
from tests.cli.test_run import start
from tests.client.loopback import DONE, answering, event, hanging, head, serving
from tests.domain.builders import choice_of, run_of
from tests.tui.test_real_terminal import until
from workbench.cli import main
from workbench.domain.run import Outcome
from workbench.domain.session import Draft
from workbench.storage.session_store import SessionStore

REFUSING = """
import fcntl, os

def refuse(*_):
    raise OSError(int(os.environ["LOCK_ERROR"]), "refused")

fcntl.flock = fcntl.lockf = refuse
"""
ERRORS = ("EINVAL", "EPERM", "EACCES", "EAGAIN", "ENOLCK", "ENOSYS", "ENOTSUP", "EIO", "ENOTTY", "ESTALE")


@pytest.fixture(params=ERRORS)
def refusal(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Refuse every lock on a file, as some mounted folders do; answers with the error's number."""
    number: int = getattr(errno, request.param)

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", refuse)
    monkeypatch.setattr("fcntl.lockf", refuse)
    return number


def texts(path: Path) -> list[str]:
    """The answers that a session's file holds."""
    opened = SessionStore.open(path)
    opened.store.close()
    assert not opened.read_only
    return [run.ordered[0].text for run in opened.session.runs]


@pytest.mark.usefixtures("refusal")
def test_a_run_is_printed_and_kept_and_leaves_no_other_file(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    path = folder / "l.toml"
    with serving_beside(answering(event(" fine", finish_reason="stop") + DONE)) as server:
        for _ in range(2):
            options = ["--prompt", "hi", "--endpoint", server.base_url, "--session", str(path)]
            assert main(["run", *options]) == 0
    printed = capfdbinary.readouterr()
    assert (printed.out, printed.err) == (b" fine fine", b"")
    assert texts(path) == [" fine", " fine"]
    assert [file.name for file in folder.iterdir()] == ["l.toml"]


@pytest.mark.usefixtures("refusal")
def test_two_windows_share_a_session(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    first = SessionStore.create(path)
    first.save_draft(Draft(prompt="typed"))
    second = SessionStore.open(path).store
    assert (first.owns_draft, second.owns_draft) == (True, False)
    second.finish(run_of(choice_of([" theirs"])))
    assert [run.ordered[0].text for run in first.poll().runs] == [" theirs"]
    second.close()
    first.close()
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


@pytest.mark.slow
@pytest.mark.parametrize("refusal", ["EINVAL", "EAGAIN"], indirect=True)
async def test_what_streamed_before_a_kill_is_recovered(refusal: int, tmp_path: Path) -> None:
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "sitecustomize.py").write_text(REFUSING)
    folder = tmp_path / "kept"
    folder.mkdir()
    environment = {"PYTHONPATH": str(tmp_path / "path"), "LOCK_ERROR": str(refusal)}
    async with serving(hanging(head() + event(" went"))) as server:
        options = ("--prompt", "hi", "--endpoint", server.base_url, "--session", str(folder / "s.toml"))
        process = await start("run", *options, environment=environment)
        await until(lambda: any(b" went" in path.read_bytes() for path in folder.glob(".*.run")))
        process.kill()
        await process.communicate()
    opened = await asyncio.to_thread(SessionStore.open, folder / "s.toml")
    opened.store.close()
    (run,) = opened.session.runs
    assert (run.ordered[0].text, run.outcome) == (" went", Outcome.TRUNCATED)
    assert [path.name for path in folder.iterdir()] == ["s.toml"]
