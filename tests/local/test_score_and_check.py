"""Scoring and checking on the embedded model: what it generated, it finds again."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.local.conftest import KEY, KEY_NAME, MODEL, Server
from workbench.cli import main
from workbench.domain.choice import Choice
from workbench.domain.endpoint import Endpoint, EnvironmentKey
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.domain.scoring import common_positions
from workbench.runner.connections import Connections
from workbench.runner.score_text import plan_one_token_scoring, score_answer, scored, scoring_request
from workbench.storage.session_file import read_runs

pytestmark = pytest.mark.slow

TEXT = "Once upon a time, there was a little girl who lived in a 猫 house 🍕"

LONG = "She opened the old book and began to read it aloud. " * 60 + "Then she said"
"""More than 512 tokens, where llama.cpp evaluates a token alone in another way if keys are F16."""


@pytest.fixture
async def connections() -> AsyncIterator[Connections]:
    async with aclosing(Connections({**os.environ, KEY_NAME: KEY})) as opened:
        yield opened


@pytest.fixture
def endpoint(server: Server) -> Endpoint:
    return Endpoint("served", f"{server.url}/v1", key=EnvironmentKey(KEY_NAME), model=MODEL, concurrency=4)


async def send(connections: Connections, endpoint: Endpoint, run: Run) -> Choice:
    await connections.send(endpoint, run)
    assert run.error is None
    return run.choices[0]


async def test_one_token_requests_find_the_logprobs_that_an_echo_has(
    connections: Connections, endpoint: Endpoint
) -> None:
    plan = await plan_one_token_scoring(connections, endpoint, TextPrompt(TEXT))
    sent = plan.run(endpoint, "", 5)
    await send(connections, endpoint, sent)
    found = plan.scored(sent).choices[0]
    echo = Run(scoring_request(TextPrompt(TEXT), top=5), endpoint.name)
    await send(connections, endpoint, echo)
    passage = scored(echo)
    assert found.text == passage.text == TEXT
    assert len(found) == len(passage.tokens)
    pairs = [(found.logprob_of(index), passage.choice.logprob_of(index)) for index in range(len(found))]
    known = [pair for pair in pairs if pair[0] is not None]
    assert len(known) > len(pairs) // 3
    assert all(ours == theirs for ours, theirs in known)


@pytest.mark.parametrize(
    ("prompt", "temperature"), [("Once upon a time", 0.0), ("Once upon a time", 0.8), (LONG, 0.0)]
)
async def test_an_answer_is_scored_as_it_was_generated_to_the_last_bit(
    connections: Connections, endpoint: Endpoint, prompt: str, temperature: float
) -> None:
    values = {"temperature": temperature, "seed": 8, "max_tokens": 24, "logprobs": 5}
    run = Run(Request(TextPrompt(prompt), "", Parameters(values)), endpoint.name)
    await send(connections, endpoint, run)
    own, other = await score_answer(connections, endpoint, run, run.choices[0])
    assert own.text == other.text == run.choices[0].text
    pairs = list(common_positions(own, other))[:-1]
    assert len(pairs) == 24
    for mine, theirs in pairs:
        assert own.choice.logprob_of(mine) == other.choice.logprob_of(theirs)


@pytest.fixture
def session(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two recorded cases, greedy and with a seed."""
    monkeypatch.setenv(KEY_NAME, KEY)
    file = tmp_path / "recorded.toml"
    for more in (("--temperature", "0"), ("--temperature", "0.9", "--seed", "5")):
        ask = ("run", "--prompt", "Once upon a time", "--max-tokens", "16", "--logprobs", "5", *more)
        assert main([*ask, *at(server), "--session", str(file)]) == 0
    return file


def at(server: Server) -> tuple[str, ...]:
    return "--endpoint", f"{server.url}/v1", "--api-key-env", KEY_NAME, "--model", MODEL


@pytest.mark.parametrize("mode", ["--free", "--forced"])
def test_a_check_of_the_same_model_finds_no_difference(
    mode: str, server: Server, session: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    capfd.readouterr()
    assert main(["check", str(session), mode, *at(server), "--json", "-"]) == 0
    report = json.loads(capfd.readouterr().out)
    assert [case["verdict"] for case in report["results"]] == ["same"] * 2
    assert (report["figures"]["top1_agreement"], report["figures"]["logprob_difference_max"]) == (1, 0)


@pytest.mark.parametrize("mode", ["--free", "--forced"])
def test_a_check_of_answers_that_the_model_does_not_give_fails(
    mode: str, server: Server, session: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (greedy, _) = read_runs(session)
    other = session.with_name("other.toml")
    text = session.read_text("utf-8").replace("Once upon a time", "Once upon a table")
    assert text.count("Once upon a table") >= 2
    other.write_text(text, "utf-8")
    assert greedy.choices[0].text
    assert main(["check", str(other), mode, *at(server), "--json", "-"]) == 1
    report = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert [case["verdict"] for case in report["results"]] == ["differs"] * 2
