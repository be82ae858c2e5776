"""`workbench run --split`: several requests for one run, and a word where they would help."""

from __future__ import annotations

import asyncio
import json
import os
from typing import cast

import pytest

from tests.cli.in_process import serving_beside
from tests.client.loopback import DONE, Received, answering, event
from workbench.cli import main
from workbench.domain.json_values import JsonObject
from workbench.storage.endpoint_editing import save_endpoint
from workbench.storage.endpoint_list import load_endpoints
from workbench.storage.files import Folders


async def one_choice(received: Received, writer: asyncio.StreamWriter) -> None:
    """Answer with prompt and seed, and never more than one choice."""
    body = received.json
    await answering(event(f"{body['prompt']}{body.get('seed', '')}", finish_reason="stop") + DONE)(
        received, writer
    )


def run(*argv: str, single_choice: bool = False) -> tuple[int, list[JsonObject]]:
    """Run the command against a server; gives its status and the bodies that came."""
    with serving_beside(one_choice) as loopback:
        endpoint = loopback.endpoint(name="mine", single_choice=single_choice)
        folders = Folders.default(os.environ)
        save_endpoint(folders, endpoint, load_endpoints(folders))
        status = main(["run", "--endpoint", "mine", *argv])
        return status, [request.json for request in loopback.requests]


def test_each_prompt_and_choice_is_a_request_of_one_run(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    status, bodies = run(*("--prompt", "a", "--prompt", "b", "--n", "2", "--seed", "4", "--split", "--json"))
    printed = json.loads(capfdbinary.readouterr().out)
    assert status == 0
    assert len(bodies) == 4
    assert [choice["text"] for choice in printed["choices"]] == ["a4", "a5", "b4", "b5"]
    assert "sent as 4 requests, one for each prompt and choice, with seeds 4 to 5" in printed["notes"]


def test_without_the_option_it_is_said_once_and_sent_as_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, bodies = run("--prompt", "a", "--n", "3", single_choice=True)
    assert [cast(int, body["n"]) for body in bodies] == [3]
    warning = capsys.readouterr().err
    assert (
        warning.count("its profile says that it answers one choice a request; --split sends 3 instead") == 1
    )


def test_one_plain_request_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    run("--prompt", "a", single_choice=True)
    assert capsys.readouterr().err == ""


def test_candidates_of_best_of_are_not_split(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["run", "--prompt", "a", "--n", "2", "--best-of", "4", "--split", "--endpoint", "vllm"])
    assert caught.value.code == 2
    assert "best_of" in capsys.readouterr().err
