"""`workbench replay`: a recorded run is shown again, or sent again and compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_run import Done, workbench
from tests.cli.test_sessions import draft, session_file, upon
from tests.client.loopback import DONE, Handler, answering, event, in_turn, serving
from workbench.domain.run import Run

TWO_TOKENS = answering(event(" upon") + event(" a", finish_reason="stop") + DONE)
ANOTHER = answering(event(" upon") + event(" the", finish_reason="stop") + DONE)


async def recorded(url: str, file: Path) -> None:
    """Record a run in a session."""
    done = await workbench("run", "--prompt", "Once", "--endpoint", url, "--session", str(file))
    assert done.status == 0


async def check(file: Path, *more: str) -> Done:
    """Send a session's runs again."""
    return await workbench("replay", str(file), "--check", *more)


async def test_a_run_is_printed_again_at_once_and_exactly(tmp_path: Path) -> None:
    file = session_file(tmp_path / "s.toml", upon(" upon\r\n\x1b[31m"))
    done = await workbench("replay", str(file), "--speed", "0")
    assert (done.status, done.out, done.err) == (0, b" upon\r\n\x1b[31m", "")


@pytest.mark.parametrize("by", ["id", "name"])
async def test_one_run_of_several_is_printed(by: str, tmp_path: Path) -> None:
    first, second = upon(" one"), upon(" two")
    second.name = "the second"
    file = session_file(tmp_path / "s.toml", first, second)
    wanted = second.id[:10] if by == "id" else second.name
    done = await workbench("replay", str(file), "--speed", "0", "--run", wanted)
    assert (done.status, done.out) == (0, b" two")


async def test_an_unknown_run_is_named_with_the_known_ones(tmp_path: Path) -> None:
    run: Run = upon()
    file = session_file(tmp_path / "s.toml", run)
    done = await workbench("replay", str(file), "--run", "nobody")
    assert done.status == 2
    assert "there is no run 'nobody'" in done.err
    assert run.id[:8] in done.err


@pytest.mark.parametrize("option", [("--json",), ("--times", "2")])
async def test_what_only_a_check_has_is_refused_without_one(option: tuple[str, ...], tmp_path: Path) -> None:
    file = session_file(tmp_path / "s.toml", upon())
    done = await workbench("replay", str(file), "--speed", "0", *option)
    assert (done.status, done.out) == (2, b"")
    assert "need --check" in done.err


async def test_the_request_that_begins_a_session_is_its_draft(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    async with serving(TWO_TOKENS) as server:
        await recorded(server.base_url, file)
        await workbench("run", "--prompt", "Twice", "--endpoint", server.base_url, "--session", str(file))
    assert (draft(file).prompt, draft(file).endpoint) == ("Once", server.base_url)


async def test_a_run_that_comes_again_is_identical_and_the_session_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    async with serving(TWO_TOKENS) as server:
        await recorded(server.base_url, file)
        before = file.read_bytes()
        done = await check(file)
    assert done.status == 0
    assert b"identical 2/2" in done.out
    assert server.requests[0].json == server.requests[1].json
    assert file.read_bytes() == before


async def test_a_run_that_differs_is_told_with_its_first_difference(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    async with serving(in_turn(TWO_TOKENS, ANOTHER)) as server:
        await recorded(server.base_url, file)
        done = await check(file)
    assert done.status == 1
    assert b"diverges at token 2" in done.out
    assert b"recorded " in done.out and b"' the'" in done.out


@pytest.mark.parametrize(("again", "status"), [(TWO_TOKENS, 0), (ANOTHER, 1)], ids=["identical", "different"])
async def test_a_report_is_json(again: Handler, status: int, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    async with serving(in_turn(TWO_TOKENS, again)) as server:
        await recorded(server.base_url, file)
        done = await check(file, "--json")
    assert done.status == status
    (report,) = json.loads(done.out)
    assert report["identical"] is (status == 0)
    assert report["error"] is None
    (choice,) = report["choices"]
    assert choice["equal_tokens"] == 2 - status
    assert (choice["recorded_tokens"], choice["again_tokens"]) == (2, 2)
