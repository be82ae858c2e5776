"""`workbench check`: the same endpoint passes, a changed one is told from a noisy and from a failing one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.bench.check import write_session
from tests.cli.in_process import serving_beside
from tests.cli.test_confirm import Terminal
from tests.toy_model import ToyModel
from workbench.cli import main
from workbench.storage.files import Folders
from workbench.storage.session_file import read_runs

PROMPTS = ("Once", "Two 猫", "Three\n")


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """Three greedy answers and two that are sampled with a seed, all with logprobs."""
    path = tmp_path / "kept.toml"
    with serving_beside(ToyModel().handler) as loopback:
        for prompt in PROMPTS:
            record(path, loopback.base_url, prompt, "--temperature", "0")
        for seed in ("1", "2"):
            record(path, loopback.base_url, "Seeded", "--seed", seed)
    return path


def record(path: Path, url: str, prompt: str, *more: str) -> None:
    options = ("--endpoint", url, "--max-tokens", "6", "--logprobs", "4", "--session", str(path), *more)
    assert main(["run", "--prompt", prompt, *options]) == 0


def check(toy: ToyModel, *arguments: str | Path) -> int:
    with serving_beside(toy.handler) as loopback:
        return int(main(["check", *map(str, arguments), "--endpoint", loopback.base_url]))


def report(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text("utf-8"))  # type: ignore[no-any-return]


@pytest.mark.parametrize("mode", ["--free", "--forced"])
def test_the_same_model_passes_in_every_case(
    mode: str, session: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert check(ToyModel(), session, mode, "--max-logprob-diff", "0", "--json", tmp_path / "a.json") == 0
    found = report(tmp_path / "a.json")
    assert found["verdicts"] == {"same": 5, "noisy": 0, "differs": 0, "failed": 0, "skipped": 0}
    assert found["figures"]["kl_max"] == 0
    assert found["figures"]["top1_agreement"] == found["figures"]["overlap"] == 1
    assert found["figures"]["positions"] == 30
    assert "5 cases: 5 same" in capfd.readouterr().out


def test_a_changed_model_differs_from_the_token_on_where_it_does(
    session: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    toy = ToyModel(shift=3)
    assert check(toy, session, "--json", tmp_path / "a.json", "--junit", tmp_path / "a.xml") == 1
    shown = capfd.readouterr().out
    assert "DIFFERS" in shown
    assert "the text diverges at token" in shown
    found = report(tmp_path / "a.json")
    assert found["verdicts"]["differs"] == 5
    first = found["results"][0]
    difference = first["difference"]
    recorded = read_runs(session)[0].choices[0]
    token = recorded.token(difference["token"])
    assert difference["recorded"]["text"] == token.text != difference["now"]["text"]
    assert difference["recorded"]["logprob"] == token.logprob
    assert [alternative["text"] for alternative in difference["recorded"]["alternatives"]] == [
        alternative.text for alternative in token.alternatives
    ]
    assert len(difference["now"]["alternatives"]) >= 4
    before = PROMPTS[0] + "".join(recorded.texts(0, difference["token"]))
    assert (
        difference["now"]["text"]
        == toy.answer({"prompt": before, "max_tokens": 1, "temperature": 0})["choices"][0]["text"]
    )
    suite = ElementTree.parse(tmp_path / "a.xml").getroot()[0]
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5",
        "failures": "5",
        "errors": "0",
        "skipped": "0",
    }
    assert "the text diverges" in str(suite[0][0].get("message"))


def test_scoring_the_recorded_tokens_compares_every_position_of_a_changed_model(
    session: Path, tmp_path: Path
) -> None:
    assert check(ToyModel(shift=3), session, "--forced", "--json", tmp_path / "a.json") == 1
    found = report(tmp_path / "a.json")
    assert found["figures"]["positions"] == 30
    assert found["figures"]["kl_max"] > 0.1
    assert found["figures"]["top1_agreement"] < 1


@pytest.mark.parametrize(
    ("tolerance", "status"),
    [
        (("--max-kl", "100"), 0),
        (("--max-kl", "0.0001"), 1),
        (("--max-logprob-diff", "100"), 0),
        (("--max-logprob-diff", "0.0001"), 1),
        (("--min-top1", "0"), 0),
        (("--min-top1", "1"), 1),
    ],
)
def test_tolerances_decide(tolerance: tuple[str, ...], status: int, session: Path) -> None:
    assert check(ToyModel(shift=2), session, "--forced", *tolerance) == status


def test_a_tokenizer_that_cuts_otherwise_is_compared_where_both_have_a_token(
    session: Path, tmp_path: Path
) -> None:
    check(ToyModel(cut=r"\s|[^\s]{1,3}"), session, "--forced", "--json", tmp_path / "a.json")
    assert report(tmp_path / "a.json")["figures"]["positions"] == 30


def test_repeats_tell_noise_from_a_change(session: Path, tmp_path: Path) -> None:
    options = (session, "--forced", "--times", "4", "--json", tmp_path / "a.json")
    assert check(ToyModel(shift=3, flickers=True), *options) == 0
    found = report(tmp_path / "a.json")
    assert found["verdicts"]["noisy"] == 5
    assert [(result["repeats"], result["differing"]) for result in found["results"]] == [(4, 2)] * 5
    assert check(ToyModel(shift=3), *options) == 1


def test_answers_sampled_without_a_seed_are_compared_up_to_where_they_diverge(tmp_path: Path) -> None:
    path = tmp_path / "sampled.toml"
    with serving_beside(ToyModel().handler) as loopback:
        record(path, loopback.base_url, "Once")
    assert check(ToyModel(salt=" another"), path, "--json", tmp_path / "a.json") == 0
    found = report(tmp_path / "a.json")
    assert found["verdicts"]["same"] == 1
    assert 1 <= found["figures"]["positions"] < 6
    assert found["figures"]["logprob_difference_max"] == 0


def test_an_endpoint_that_fails_is_no_difference(
    session: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert check(ToyModel(fails=True), session, "--junit", tmp_path / "a.xml") == 3
    assert "the engine is gone" in capfd.readouterr().out
    assert ElementTree.parse(tmp_path / "a.xml").getroot()[0].get("errors") == "5"


def test_scoring_without_echo_names_what_is_needed(session: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert check(ToyModel(refuses_echo=True), session, "--forced") == 3
    assert "Scoring needs an endpoint that answers echo" in capfd.readouterr().out


def test_blessed_answers_are_what_later_checks_hold_against(session: Path) -> None:
    changed = ToyModel(shift=3)
    assert check(changed, session) == 1
    assert check(changed, session, "--bless") == 0
    runs = read_runs(session)
    assert len(runs) == 10
    assert [run.parent.kind for run in runs[5:] if run.parent] == ["blessed"] * 5
    assert {run.parent.run for run in runs[5:] if run.parent} == {run.id for run in runs[:5]}
    assert check(changed, session) == 0
    assert check(ToyModel(), session) == 1
    assert check(ToyModel(), session, "--bless") == 0
    assert check(ToyModel(), session) == 0
    assert len(read_runs(session)) == 15


def test_a_check_goes_on_after_the_last_result_that_is_kept(session: Path, tmp_path: Path) -> None:
    progress, toy = tmp_path / "progress.jsonl", ToyModel()
    with serving_beside(toy.handler) as loopback:
        options = (
            "check",
            str(session),
            "--progress",
            str(progress),
            "--endpoint",
            loopback.base_url,
            "--json",
        )
        assert main([*options, str(tmp_path / "whole.json")]) == 0
        head, *lines = progress.read_bytes().splitlines(keepends=True)
        # As a kill leaves it: two results, and half of a third one.
        progress.write_bytes(head + b"".join(lines[:2]) + lines[2][:20])
        toy.served.clear()
        assert main([*options, str(tmp_path / "again.json")]) == 0
    assert sum(toy.served.values()) == 3
    assert len(progress.read_bytes().splitlines()) == 6
    whole, again = (report(tmp_path / name)["results"] for name in ("whole.json", "again.json"))
    assert [(result["run"], result["verdict"]) for result in again] == [
        (result["run"], result["verdict"]) for result in whole
    ]


def test_cases_that_failed_are_checked_again(session: Path, tmp_path: Path) -> None:
    progress, toy = tmp_path / "progress.jsonl", ToyModel(fails=True)
    with serving_beside(toy.handler) as loopback:
        options = ("check", str(session), "--progress", str(progress), "--endpoint", loopback.base_url)
        assert main(options) == 3
        toy.fails = False
        assert main(options) == 0
        toy.served.clear()
        assert main(options) == 0
    assert not toy.served


def test_the_progress_of_another_check_is_left_alone(
    session: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    progress = tmp_path / "progress.jsonl"
    assert check(ToyModel(), session, "--progress", progress) == 0
    before = progress.read_bytes()
    with pytest.raises(SystemExit) as left:
        check(ToyModel(), session, "--progress", progress, "--times", "2")
    assert left.value.code == 2
    assert "belongs to another check" in capfd.readouterr().err
    assert progress.read_bytes() == before


def test_folders_are_searched_and_what_cannot_be_compared_is_skipped(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "many" / "deeper"
    folder.mkdir(parents=True)
    with serving_beside(ToyModel().handler) as loopback:
        record(folder / "a.toml", loopback.base_url, "Once", "--temperature", "0")
        bare = ("--endpoint", loopback.base_url, "--session", str(folder / "b.toml"), "--max-tokens", "3")
        assert main(["run", "--prompt", "Two", *bare]) == 0
    capfd.readouterr()
    assert check(ToyModel(), tmp_path / "many") == 0
    shown = capfd.readouterr().out
    assert "2 cases: 1 same, 1 skipped" in shown
    assert "skipped 1: recorded without logprobs, and sampled without a seed" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gone.toml",), "gone.toml"),
        (("empty",), "has no session files"),
        (("kept.toml", "--bless", "--forced"), "--bless records new answers"),
        (("kept.toml", "--max-kl", "-1"), "not a number from 0 on"),
        (("kept.toml", "--min-top1", "2"), "between 0 and 1"),
        (("broken.toml",), "not a readable session"),
        (("blank.toml",), "nothing to check"),
    ],
)
def test_bad_arguments_are_named(
    arguments: tuple[str, ...],
    message: str,
    session: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    tmp_path = session.parent
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.toml").write_text("format = ", "utf-8")
    (tmp_path / "blank.toml").write_text("format = 1\n", "utf-8")
    with pytest.raises(SystemExit) as left:
        check(ToyModel(), *arguments)
    assert left.value.code == 2
    assert message in capfd.readouterr().err


def test_much_is_sent_from_a_terminal_only_after_a_yes(
    session: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    config = Folders.default(os.environ).config
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.toml").write_text("confirm_above = 10\n", encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    toy = ToyModel()
    assert check(toy, session, "--times", "3") == 2
    assert "15 requests, which may generate up to 90 completion tokens" in capfd.readouterr().err
    assert not toy.served


def test_a_check_that_is_killed_goes_on_and_sends_nothing_twice_but_what_was_under_way(
    tmp_path: Path,
) -> None:
    session, progress, cases = tmp_path / "many.toml", tmp_path / "progress.jsonl", 100
    write_session(session, cases)
    toy = ToyModel(holds_after=40)
    with serving_beside(toy.handler) as loopback:
        command = [sys.executable, "-m", "workbench", "check", str(session), "--progress", str(progress)]
        command += ["--endpoint", loopback.base_url, "--concurrency", "8", "--json", str(tmp_path / "a.json")]
        with subprocess.Popen(command) as killed:
            assert toy.held.wait(120)
            killed.kill()
        kept = progress.read_bytes().count(b"\n") - 1
        assert 40 - 8 <= kept <= 40
        toy.holds_after = None
        # Whatever the endpoint answers, each case has a result; these answers differ.
        assert subprocess.run(command, check=False).returncode == 1
    assert len(report(tmp_path / "a.json")["results"]) == cases
    assert cases <= toy.served.total() <= cases + 2 * 8
