"""`workbench inspect`: what the screen shows of tokens, as text."""

from __future__ import annotations

import json
from math import log
from pathlib import Path

import pytest

from tests.cli.test_sessions import session_file
from tests.domain.builders import choice_of, run_of, token_of
from workbench.cli import main
from workbench.domain.choice import Alternative, Choice, ReceivedToken
from workbench.domain.run import Run

SURE = token_of(" was", 0.9, **{" is": 0.05})
LISTED_FIVE = tuple(Alternative(text, log(0.1)) for text in (" a", " b", " c", " d", " e"))
UNLIKELY = ReceivedToken("\x1b[31m\n", log(0.02), LISTED_FIVE, 42)
"""A token with control characters, less likely than all that are listed."""


def lines_of(text: str) -> list[str]:
    """The lines that hold something, without rules, each with single blanks."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip(" ─")]


def story(*pieces: ReceivedToken) -> Run:
    """A run whose choice is known to list the five most likely tokens."""
    choice = Choice(0, top_logprobs=5)
    for at, token in enumerate(pieces, 1):
        choice.append(token, at / 10)
    choice.finish_reason = "stop"
    return run_of(choice)


def test_a_token_is_shown_with_its_alternatives_and_what_remains(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = story(SURE, UNLIKELY)
    file = session_file(tmp_path / "s.toml", run)
    assert main(["inspect", str(file), "--token", "2"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    lines = lines_of(out)
    assert lines[:4] == [
        f"run {run.id[:8]}, token 2 of 2: \\e[31m⏎",
        "id 42, 6 bytes \\x1b\\x5b\\x33\\x31\\x6d\\x0a",
        "probability 2.0%, logprob -3.912 nats, rank > 5",
        # Five tokens of .1, and .5 over at least five more that are no likelier.
        f"top-k mass 50.0%, entropy at least {log(10):.2f} nats",
    ]
    assert lines[5:] == [
        *(f"{number} ·{text} 10.0%" for number, text in enumerate("abcde", 1)),
        "\\e[31m⏎ 2.0% chosen, not among the top 5",
        "(other) 48.0%",
    ]


def test_tokens_below_a_probability_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pieces: list[ReceivedToken | str] = [
        SURE,
        token_of(" it", 0.3, **{" she": 0.5}),
        token_of(" rain", 0.05, **{" a": 0.6}),
        "!",
    ]
    run = run_of(choice_of(pieces))
    file = session_file(tmp_path / "s.toml", run_of(choice_of(["older"])), run)
    rows = {
        "1": "1 ·was 90.0% 1 ·was 90.0% 95.0%",
        "2": "2 ·it 30.0% 2 ·she 50.0% 80.0%",
        "3": "3 ·rain 5.0% 2 ·a 60.0% 65.0%",
        "4": "4 ! — — — —",
    }
    for options, shown in (
        ([], "1234"),
        (["--surprising"], "3"),
        (["--surprising", "0.5"], "23"),
        (["--surprising", "0.01"], ""),
    ):
        assert main(["inspect", str(file), *options]) == 0
        title, _, *found = lines_of(capsys.readouterr().out)
        assert title == f"run {run.id[:8]}: {len(shown)} of 4 tokens"
        assert found == [rows[number] for number in shown]


def test_a_token_without_logprobs_says_what_to_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = session_file(tmp_path / "s.toml", run_of(choice_of(["plain"])))
    assert main(["inspect", str(file), "--token", "1"]) == 0
    assert "set logprobs" in capsys.readouterr().out


def test_two_runs_are_shown_where_they_diverge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    it, rain = token_of(" it", 0.3), token_of(" rain", 0.6)
    runs = [run_of(choice_of(pieces)) for pieces in ([SURE, it], [SURE, rain], [SURE])]
    file = session_file(tmp_path / "s.toml", *runs)
    first, second, short = (run.id for run in runs)
    assert main(["inspect", str(file), "--run", first, "--against", second]) == 0
    lines = lines_of(capsys.readouterr().out)
    assert lines[0] == "1 token in common; diverges at token 2"
    assert f"run {first[:8]}, token 2 of 2: ·it" in lines
    assert f"run {second[:8]}, token 2 of 2: ·rain" in lines
    assert {"1 ·it 30.0% chosen", "1 ·rain 60.0% chosen"} <= set(lines)
    assert main(["inspect", str(file), "--run", first, "--against", short]) == 0
    assert f"run {short[:8]} ended after 1 token" in capsys.readouterr().out
    assert main(["inspect", str(file), "--run", first, "--against", first]) == 0
    assert capsys.readouterr().out == "2 tokens in common; identical as far as both go\n"
    assert main(["inspect", str(file), "--run", first, "--against", short, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["runs"], found["shared"], found["diverges_at"]) == ([first, short], 1, 2)
    assert [token and token["text"] for token in found["tokens"]] == [" it", None]


def test_runs_of_different_prompts_are_said_to_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [run_of(choice_of([SURE]), prompt=prompt) for prompt in ("Once", "Twice")]
    file = session_file(tmp_path / "s.toml", *runs)
    assert main(["inspect", str(file), "--against", runs[0].id]) == 0
    assert "the prompts differ" in capsys.readouterr().err


def test_json_holds_exact_texts_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = story(SURE, UNLIKELY)
    file = session_file(tmp_path / "s.toml", run)
    assert main(["inspect", str(file), "--surprising", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (token,) = found.pop("tokens")
    assert found == {"run": run.id, "choice": 1}
    assert (token["token"], token["text"], token["id"], token["rank"]) == (2, "\x1b[31m\n", 42, "> 5")
    assert token["bytes"] == list(b"\x1b[31m\n")
    assert token["coverage"] == pytest.approx(0.5)
    assert token["entropy_at_least"] == pytest.approx(log(10))
    assert [alternative["text"] for alternative in token["alternatives"]] == [" a", " b", " c", " d", " e"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--token", "9"), "no token 9"),
        (("--token", "0"), "no token 0"),
        (("--choice", "3"), "no choice 3"),
        (("--surprising", "1.5"), "between 0 and 1"),
    ],
)
def test_what_is_not_there_is_named(
    options: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = session_file(tmp_path / "s.toml", run_of(choice_of([SURE])))
    with pytest.raises(SystemExit, match="2"):
        main(["inspect", str(file), *options])
    assert message in capsys.readouterr().err
