"""`workbench probe` on the command line."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable

import pytest

from tests.runner.toy_endpoint import Toy
from workbench.cli import main
from workbench.domain.probe_findings import ProbeVerdict
from workbench.storage.files import Folders
from workbench.storage.probes import load_probe, probe_from_table


async def against(toy: Toy, call: Callable[[str], int]) -> tuple[int, str]:
    """Run a blocking command beside the endpoint; gives its status and the endpoint's URL."""
    async with toy.serve() as url:
        return await asyncio.to_thread(call, url), url


async def test_a_probe_prints_its_table_and_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    status, url = await against(Toy(ignored=frozenset({"min_p"})), lambda url: main(["probe", url]))
    printed = capsys.readouterr()
    assert status == 0
    assert "– min_p" in printed.out
    assert "✓ top_k" in printed.out
    assert "at most 22 requests" in printed.err
    kept = load_probe(Folders.default(os.environ), url)
    assert kept is not None
    assert kept.table() == printed.out.rstrip("\n")


async def test_json_is_one_object_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    await against(Toy(refused=frozenset({"best_of"})), lambda url: main(["probe", url, "--json"]))
    found = probe_from_table(json.loads(capsys.readouterr().out))
    assert found.verdict("best_of") is ProbeVerdict.REFUSED


async def test_an_endpoint_that_answers_nothing_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    status, _ = await against(Toy(status=401), lambda url: main(["probe", url]))
    printed = capsys.readouterr()
    assert status == 1
    assert printed.out == ""
    assert "401" in printed.err or "key" in printed.err


def test_an_unknown_endpoint_is_a_bad_argument(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["probe", "nobody"])
    assert caught.value.code == 2
    assert "nobody" in capsys.readouterr().err
