"""Every recorded body gives on the command line and on the screen what the client makes of it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from io import BytesIO, TextIOWrapper

import pytest

from tests.cli.in_process import serving_beside
from tests.client.cases import Case, answer_events, reasons, recordings, run_of, texts, wire_cases
from tests.client.loopback import Received, answering, serving
from tests.tui.scripted import do, until, use_parameters
from workbench.cli import main
from workbench.cli.output import run_to_json
from workbench.domain.display import is_control
from workbench.domain.parameters import Parameters
from workbench.domain.run import Run
from workbench.storage.endpoint_list import endpoints_folder
from workbench.storage.files import Folders
from workbench.tui.app import WorkbenchApp
from workbench.workspace.services import Services

ALL = [*wire_cases(), *recordings()]


def expected(case: Case) -> Run:
    """What the client layer makes of a body."""
    return run_of(answer_events([case.body], case.status))


def as_shown(run: Run) -> object:
    """Return what the screen shows of a run."""
    failure = run.error
    return (
        run.outcome,
        texts(run),
        reasons(run),
        [[(token.text, token.logprob, token.alternatives) for token in choice] for choice in run.ordered],
        run.usage,
        run.model,
        run.notes,
        failure and (failure.title, failure.message, failure.status),
    )


class Playing:
    """Answers each request with the next case's body."""

    def __init__(self) -> None:
        self._cases = iter(ALL)

    async def __call__(self, _: Received, writer: asyncio.StreamWriter) -> None:
        case = next(self._cases)
        await answering(case.body, case.status, case.content_type)(_, writer)


class _Terminal(TextIOWrapper):
    """Standard output that is a terminal, to look at afterwards."""

    def isatty(self) -> bool:
        return True

    @property
    def printed(self) -> str:
        """What was printed."""
        self.flush()
        assert isinstance(self.buffer, BytesIO)
        return self.buffer.getvalue().decode()


def profile(base_url: str) -> str:
    """An endpoint that repeats nothing."""
    folder = endpoints_folder(Folders.default(os.environ))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cases.toml").write_text(f'base_url = "{base_url}"\nretries = 0\n', encoding="utf-8")
    return "cases"


def _dangerous(text: str) -> set[str]:
    return {
        character
        for character in text
        if character not in "\n\t" and is_control(character) and character != "\u200d"
    }


def test_headless_tells_what_the_client_makes_of_each_and_a_terminal_gets_no_control_code(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving_beside(Playing()) as loopback:
        name = profile(loopback.base_url)
        for case in ALL:
            out, err = (_Terminal(BytesIO(), "utf-8") for _ in range(2))
            with monkeypatch.context() as patch:
                patch.setattr(sys, "stdout", out)
                patch.setattr(sys, "stderr", err)
                main(["run", "--prompt", "x", "--endpoint", name, "--json"])
            assert _dangerous(out.printed + err.printed) == set(), case.name
            found, wanted = json.loads(out.printed), _json(expected(case))
            for inner in (found, wanted):
                _without_times(inner)
            assert found == wanted, case.name


def _json(run: Run) -> dict[str, object]:
    text = json.dumps(run_to_json(run), ensure_ascii=False).encode("utf-8", "replace")
    value: dict[str, object] = json.loads(text)
    return value


def _without_times(value: object) -> None:
    match value:
        case dict():
            for name in ("at", "timing", "hint"):
                value.pop(name, None)
            for inner in value.values():
                _without_times(inner)
        case list():
            for inner in value:
                _without_times(inner)


async def test_the_screen_shows_what_the_client_makes_of_each_and_no_control_code() -> None:
    async with serving(Playing()) as loopback:
        app = WorkbenchApp(Services.open(dict(os.environ), profile(loopback.base_url)))
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: app.screen is app.main and app.main.focused is not None)
            app.workspace.drafting.set_text("x")
            use_parameters(app, Parameters())
            for case in ALL:
                await do(app, "run")
                await until(pilot, lambda: not app.workspace.runs.is_streaming)
                await pilot.pause()
                assert _dangerous("".join(_lines(app))) == set(), case.name
                wanted = expected(case)
                wanted.request = app.main.output.runs[-1].request
                assert as_shown(app.main.output.runs[-1]) == as_shown(wanted), case.name
            await app.leave()


def _lines(app: WorkbenchApp) -> Iterator[str]:
    return (strip.text for strip in app.screen._compositor.render_strips())
