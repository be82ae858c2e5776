"""`workbench endpoints` on the command line."""

from __future__ import annotations

import asyncio
import json
import os

import pytest

from tests.client.loopback import JSON, answering, serving
from tests.tui.test_endpoints_screen import models_and_answers
from workbench.cli import main
from workbench.domain.run import Failure
from workbench.runner.endpoint_test import Checked
from workbench.storage.endpoint_list import load_endpoints
from workbench.storage.files import Folders


def test_an_endpoint_is_set_up_shown_changed_and_deleted(capsys: pytest.CaptureFixture[str]) -> None:
    folders = Folders.default(os.environ)
    assert main(["endpoints", "set", "mine", "--like", "vllm", "base_url=http://h/v1", "retries=0"]) == 0
    assert main(["endpoints", "set", "mine", "key.environment=MY_KEY", "drop="]) == 0
    mine = load_endpoints(folders).endpoints["mine"]
    assert (mine.lenient, mine.retries, mine.drop) == (True, 0, frozenset())
    capsys.readouterr()
    assert main(["endpoints", "show", "mine"]) == 0
    assert "key.environment=MY_KEY\n" in capsys.readouterr().out
    assert main(["endpoints", "--json"]) == 0
    listed = {endpoint["name"]: endpoint["own"] for endpoint in json.loads(capsys.readouterr().out)}
    assert (listed["mine"], listed["vllm"]) == (True, False)
    assert main(["endpoints", "delete", "mine"]) == 0
    assert "mine" not in load_endpoints(folders).endpoints
    for name in ("mine", "vllm", "local", "../mine"):
        assert main(["endpoints", "delete", name]) == 1
        assert f"You have no endpoint profile named {name!r}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "field", ["key.environment=sk-proj-Zq81mVt50aLw", "headers=Authorization: Zq81mVt50aLw"]
)
def test_a_key_is_not_taken_and_not_repeated(field: str, capsys: pytest.CaptureFixture[str]) -> None:
    for fields in (["base_url=http://h/v1", field], [field.partition("=")[2]]):
        with pytest.raises(SystemExit):
            main(["endpoints", "set", "mine", *fields])
    printed = capsys.readouterr()
    assert "Zq81mVt50aLw" not in printed.out + printed.err
    assert "mine" not in load_endpoints(Folders.default(os.environ)).endpoints


async def test_a_test_lists_the_models_and_says_what_came(capsys: pytest.CaptureFixture[str]) -> None:
    async with serving(models_and_answers) as loopback:
        assert await asyncio.to_thread(main, ["endpoints", "test", loopback.base_url]) == 0
    printed = capsys.readouterr()
    assert "answered “there”" in printed.out
    assert "second/model" in printed.out
    assert "one token" in printed.err
    async with serving(answering(b'{"error":"no"}', 404, JSON)) as loopback:
        assert await asyncio.to_thread(main, ["endpoints", "--json", "test", loopback.base_url]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["good"], found["models"]) == (False, [])
    assert found["lines"][-1].startswith("no list of models")


def test_nothing_of_a_failed_test_reaches_the_terminal_as_a_control_code() -> None:
    failure = Failure("refused\x1b[31m", "by\r\nme\x9b", "try\x07")
    assert Checked(error=failure, no_models="none").lines == (
        "✗ refused\\e[31m",
        "by me\\x9b",
        "→ try\\a",
        "none",
    )
