"""`workbench score`: figures of a text by one model, and where two differ."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import MutableMapping
from math import log
from pathlib import Path
from time import sleep

import pytest

from tests.cli.in_process import serving_beside
from tests.cli.test_confirm import Terminal
from tests.toy_model import ToyModel
from workbench.cli import main
from workbench.domain.display import visible
from workbench.runner.connections import Connections
from workbench.storage.files import Folders
from workbench.storage.session_file import read_runs

TEXT = "Once upon a 猫 there was salt"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["workbench", *arguments])
    return int(main())


def test_a_text_is_scored_with_its_figures_and_most_surprising_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text(TEXT, "utf-8")
    with serving_beside(ToyModel().handler) as loopback:
        status = run(
            monkeypatch, "score", str(tmp_path / "a.txt"), "--endpoint", loopback.base_url, "--places", "2"
        )
        sent = loopback.requests[0].json
    assert status == 0
    shown = " ".join(capfd.readouterr().out.split())
    assert "28 characters, 30 bytes" in shown
    assert "bits per byte" in shown
    # Of the words that the model does not list the longest surprise it most; two places were asked for.
    assert "Once upon a 猫 ·there <0.1% 14.00" in shown
    assert "·a " not in shown
    fields = {
        name: sent[name] for name in ("prompt", "echo", "temperature", "max_tokens", "logprobs", "stream")
    }
    assert fields == {
        "prompt": TEXT,
        "echo": True,
        "temperature": 0.0,
        "max_tokens": 1,
        "logprobs": 5,
        "stream": False,
    }


def test_json_has_every_token_and_the_spans_of_two_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    other = ToyModel(cut=r"\s|[^\s]{1,3}")
    session = tmp_path / "kept.toml"
    with serving_beside(ToyModel().handler) as server, serving_beside(other.handler) as other_server:
        endpoints = ("--endpoint", server.base_url, "--endpoint", other_server.base_url)
        status = run(monkeypatch, "score", "--text", TEXT, *endpoints, "--json", "--session", str(session))
    assert status == 0
    (report,) = json.loads(capfd.readouterr().out)
    first, second = report["scorings"]
    assert "".join(token["text"] for token in first["tokens"]) == TEXT
    assert len(second["tokens"]) > len(first["tokens"])
    known = [token["logprob"] for token in first["tokens"] if token["logprob"] is not None]
    size = len(TEXT.encode()) - len("Once")
    assert first["bits_per_byte"] == pytest.approx(-sum(known) / log(2) / size)
    assert "".join(span["text"] for span in report["spans"]) == TEXT
    assert report["spans"][0]["difference"] is None
    assert all(
        span["difference"] == pytest.approx(span["surprisals"][1] - span["surprisals"][0])
        for span in report["spans"][1:]
    )
    left = iter(second["tokens"])
    for span in report["spans"]:
        others, done = [], ""
        while done != span["text"]:
            token = next(left)
            done += token["text"]
            best = max(token["alternatives"], key=lambda alternative: alternative["logprob"], default=None)
            if best is not None and best["logprob"] > token["logprob"]:
                others.append(best)
        assert span["elsewhere"] == (others[0] if others else None)
    assert [run.ordered[0].echoed for run in read_runs(session)] == [7, len(second["tokens"])]


@pytest.mark.parametrize(
    "toy", [ToyModel(refuses_echo=True), ToyModel(ignores_echo=True)], ids=["refused", "ignored"]
)
def test_an_endpoint_without_echo_is_named_with_what_is_needed(
    toy: ToyModel, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving_beside(toy.handler) as loopback:
        assert run(monkeypatch, "score", "--text", TEXT, "--endpoint", loopback.base_url) == 1
    assert "Scoring needs an endpoint that answers echo: true" in capfd.readouterr().err


def test_one_token_requests_score_what_an_endpoint_does_not_echo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    toy = ToyModel(refuses_echo=True, has_tokenizer=True)
    session = tmp_path / "kept.toml"
    with serving_beside(toy.handler) as loopback:
        ask = ("score", "--text", TEXT, "--endpoint", loopback.base_url, "--probe", "--top", "10")
        assert run(monkeypatch, *ask, "--session", str(session)) == 0
        shown = " ".join(capfd.readouterr().out.split())
        assert run(monkeypatch, *ask, "--json") == 0
    prompts = [
        request.json["prompt"] for request in loopback.requests if not request.path.endswith("/tokenize")
    ]
    assert sorted(map(str, prompts[:6])) == sorted(str(list(range(end))) for end in range(1, 7))
    # None of them may be a figure that leaves the unknown tokens out.
    assert "7, 4 unknown ≤ -" in shown
    assert shown.count("≥ ") == 2
    ((scoring,),) = [report["scorings"] for report in json.loads(capfd.readouterr().out)]
    assert scoring["unlisted_tokens"] == 4
    known = [token for token in scoring["tokens"][1:] if token["logprob"] is not None]
    assert [token["text"] for token in known] == [" 猫", " salt"]
    assert known[1]["logprob"] == toy.distribution("Once upon a 猫 there was", 0.0)[" salt"]
    (kept,) = read_runs(session)
    assert [len(choice) for choice in kept.ordered] == [1] * 6


def test_the_local_model_is_started_once_to_tokenise_and_to_score(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    opened: list[Connections] = []
    closed: list[Connections] = []
    begin, end = Connections.__init__, Connections.aclose

    def note_opened(self: Connections, environment: MutableMapping[str, str]) -> None:
        opened.append(self)
        begin(self, environment)

    async def note_closed(self: Connections) -> None:
        closed.append(self)
        await end(self)

    monkeypatch.setattr(Connections, "__init__", note_opened)
    monkeypatch.setattr(Connections, "aclose", note_closed)
    with serving_beside(ToyModel(has_tokenizer=True).handler) as loopback:
        ask = ("score", "--text", TEXT, "--endpoint", loopback.base_url, "--probe", "--json")
        assert run(monkeypatch, *ask) == 0
    assert opened == closed
    assert len(opened) == 1


def test_ctrl_c_at_the_question_ends_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupting(Terminal):
        def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
            os.kill(os.getpid(), signal.SIGINT)
            sleep(10)
            raise AssertionError("the line is still waited for")

    config = Folders.default(os.environ).config
    config.mkdir(parents=True)
    (config / "config.toml").write_text("confirm_above = 5\n", encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", Interrupting())
    with serving_beside(ToyModel().handler) as loopback:
        texts = [argument for number in range(6) for argument in ("--text", f"{TEXT} {number}")]
        assert run(monkeypatch, "score", *texts, "--endpoint", loopback.base_url) == 130
        assert loopback.requests == []


def test_one_token_requests_go_out_only_after_their_cost_is_agreed_to(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    config = Folders.default(os.environ).config
    config.mkdir(parents=True)
    (config / "config.toml").write_text("confirm_above = 5\n", encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    with serving_beside(ToyModel(has_tokenizer=True).handler) as loopback:
        assert run(monkeypatch, "score", "--text", TEXT, "--endpoint", loopback.base_url, "--probe") == 2
        assert [request.path.rpartition("/")[2] for request in loopback.requests] == ["tokenize"]
    assert "6 requests, which may generate up to 6 completion tokens.\nSend? [y/N]" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no text given"),
        (("--text", "a", "--probe", "--top", "0"), "--probe needs --top of at least 1"),
        (("--text", ""), "text is empty"),
        (("gone.txt",), "gone.txt"),
        (("--text", "a", "--endpoint", "a", "--endpoint", "b", "--endpoint", "c"), "at most two"),
    ],
)
def test_bad_arguments_are_named(
    arguments: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as left:
        run(monkeypatch, "score", *arguments)
    assert left.value.code == 2
    assert message in capfd.readouterr().err


def test_a_hostile_text_reaches_a_terminal_with_its_controls_escaped(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving_beside(ToyModel().handler) as loopback:
        assert run(monkeypatch, "score", "--text", "a \x1b[31mb [/red]", "--endpoint", loopback.base_url) == 0
    shown = capfd.readouterr().out
    assert visible(shown) == shown
    assert "[/red]" in shown
