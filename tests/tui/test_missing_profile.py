"""A session whose endpoint profile is not on this machine can be read, and is sent nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.client.loopback import answering
from tests.domain.builders import choice_of, run_of
from tests.tui.scripted import answer, until, workbench
from workbench.domain.session import Draft, Session
from workbench.runner.connections import Connections
from workbench.storage.session_store import SessionStore
from workbench.tui.app import WorkbenchApp


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session from another machine."""
    run = run_of(choice_of([" fine", " day"]))
    run.endpoint = "lab"
    store = SessionStore.create(tmp_path / "s.toml", Session(draft=Draft("lab", prompt="two\nlines")))
    store.finish(run)
    store.save()
    store.close()
    return tmp_path / "s.toml"


def shown_error(app: WorkbenchApp) -> str:
    """What the output pane says went wrong."""
    error = app.main.output.error
    return "\n".join(
        (str(error.border_title), *(str(widget.render()) for widget in error.query("*") if widget.display))
    )


async def opened(app: WorkbenchApp, pilot: Pilot[int], session: Path) -> None:
    await app.main.open_session(session)
    await until(pilot, lambda: len(app.main.output.runs) == 1)


@pytest.mark.parametrize("keys", [["f5"], ["ctrl+r"], ["f4", "enter"]])
async def test_its_answers_are_read_and_sending_names_the_profile(keys: list[str], session: Path) -> None:
    async with workbench(answering(answer(" in"))) as (app, pilot, loopback):
        await opened(app, pilot, session)
        assert app.main.output.runs[0].ordered[0].text == " fine day"
        assert app.workspace.drafting.endpoint.name == "lab"
        await pilot.press(*keys)
        await until(pilot, lambda: app.main.output.error.has_class("-shown"))
        assert "There is no endpoint profile named 'lab'" in shown_error(app)
        assert "Choose another endpoint, or add a profile named lab" in shown_error(app)
        assert loopback.requests == []
        assert len(app.main.output.runs) == 1
    kept = SessionStore.open(session)
    kept.store.close()
    assert kept.session.draft.endpoint == "lab"


async def test_whatever_else_sends_to_it_ends_in_that_error() -> None:
    from workbench.domain.endpoint import Endpoint
    from workbench.domain.errors import EndpointError

    connections = Connections({})
    run = run_of()
    run.outcome = None
    await connections.send(Endpoint("lab", ""), run)
    assert run.error is not None
    assert "named 'lab'" in run.error.title
    with pytest.raises(EndpointError, match="named 'lab'"):
        await connections.models(Endpoint("lab", ""))
    await connections.aclose()
