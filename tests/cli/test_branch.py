"""`workbench branch` and `workbench tree`: a session's runs leave each other, are named and are pruned."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tests.cli.in_process import serving_beside
from tests.cli.test_sessions import session_file, upon
from tests.client.cases import CASES
from tests.client.loopback import answering
from tests.tui.scripted import answer
from workbench.cli import main
from workbench.domain.run import Parent

BYTE_TOKENS = CASES / "reports" / "byte_tokens"
THREE = answering(answer(" upon", " a", " time"))


def stored(file: Path) -> list[dict[str, object]]:
    """The runs in a session's file."""
    runs: list[dict[str, object]] = tomllib.loads(file.read_text()).get("runs", [])
    return runs


def recorded(url: str, file: Path) -> str:
    """Record a run of three tokens in a session; its id."""
    options = ("--prompt", "Once", "--logprobs", "2", "--endpoint", url)
    assert main(["run", *options, "--session", str(file)]) == 0
    return str(stored(file)[-1]["id"])


def first_id(file: Path) -> str:
    """The id of the first run of a session."""
    return str(stored(file)[0]["id"])


def branch(file: Path, url: str, *more: str) -> int:
    """Branch from the newest run of a session."""
    return main(["branch", str(file), "--endpoint", url, *more])


def test_a_branch_is_sent_printed_and_kept_with_its_parent(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    file = tmp_path / "s.toml"
    with serving_beside(THREE) as server:
        first = recorded(server.base_url, file)
        capfdbinary.readouterr()
        assert branch(file, server.base_url, "--token", "2", "--rank", "2", "--max-tokens", "7") == 0
        assert capfdbinary.readouterr().out == b" upon a time"
        assert server.requests[-1].json["prompt"] == "Once upon other"
        assert (server.requests[-1].json["max_tokens"], server.requests[-1].json["logprobs"]) == (7, 2)
        parent = {"run": first, "choice": 0, "token": 1, "alternative": " other", "kind": "branch"}
        # The file leaves out what is the default.
        found = stored(file)[-1]["parent"]
        assert isinstance(found, dict)
        assert {"choice": 0, "kind": "branch", **found} == parent
        branch(file, server.base_url, "--run", first[:9], "--token", "1", "--with", " there")
        assert server.requests[-1].json["prompt"] == "Once there"


def test_without_a_token_the_answer_runs_on(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    with serving_beside(THREE) as server:
        recorded(server.base_url, file)
        assert branch(file, server.base_url) == 0
        assert server.requests[-1].json["prompt"] == "Once upon a time"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--token", "9", "--rank", "1"), "no token 9"),
        (("--token", "1", "--rank", "9"), "no alternative 9"),
        (("--token", "1"), "--with TEXT or --rank K"),
        (("--rank", "1"), "need a --token"),
        (("--choice", "3"), "no choice 3"),
        (("--temperature", "9"), "--temperature"),
    ],
)
def test_what_cannot_be_left_is_named_and_nothing_is_sent(
    more: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = session_file(tmp_path / "s.toml", upon())
    with pytest.raises(SystemExit, match="2"):
        branch(file, "http://127.0.0.1:9/v1", *more)
    assert message in capsys.readouterr().err
    assert len(stored(file)) == 1


def test_token_ids_need_a_tokenizer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = session_file(tmp_path / "s.toml", upon())
    assert branch(file, "http://127.0.0.1:9/v1", "--as-ids") == 1
    assert "no tokenizer" in capsys.readouterr().err


def test_the_tree_is_shown_named_and_pruned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [upon(" one"), upon(" two"), upon(" three")]
    runs[1].parent = Parent(runs[0].id, 0, 1, " x")
    runs[2].parent = Parent(runs[1].id, kind="continue")
    first, second, third = (run.id for run in runs)
    file = session_file(tmp_path / "s.toml", *runs)
    assert main(["tree", str(file), "--name", second[:9], "calm"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "'" in line]
    assert [line.split("'")[0].rstrip() for line in lines] == [
        f"  {first[:8]}",
        f"  └─{second[:8]} calm",
        f"    └─{third[:8]}",
    ]
    assert "branch at 2" in lines[1]
    assert main(["tree", str(file), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["depth"], row["name"], row["run"]) for row in rows] == [
        (0, None, first),
        (1, "calm", second),
        (2, None, third),
    ]
    assert main(["tree", str(file), "--prune", "calm"]) == 0
    assert [run["id"] for run in stored(file)] == [first]


def record_byte_tokens(file: Path, url: str) -> None:
    """Record a reported answer whose tokens share a character."""
    options = ("--prompt", "Write ", "--logprobs", "2", "--endpoint", url)
    assert main(["run", *options, "--session", str(file)]) == 0


@pytest.mark.parametrize(("name", "last"), [("escaped", "2"), ("byte_fallback", "3"), ("byte_level", "2")])
def test_a_branch_within_a_character_is_refused_and_one_behind_it_is_sent_whole(
    name: str, last: str, tmp_path: Path
) -> None:
    file = tmp_path / "s.toml"
    with serving_beside(answering((BYTE_TOKENS / f"{name}.response").read_bytes())) as server:
        record_byte_tokens(file, server.base_url)
        with pytest.raises(SystemExit):
            branch(file, server.base_url, "--token", "1", "--rank", "1")
        assert len(server.requests) == 1
        assert branch(file, server.base_url, "--token", "1", "--rank", "2", "--run", first_id(file)) == 0
        assert server.requests[-1].json["prompt"] == "Write  ink"
        assert branch(file, server.base_url, "--token", last, "--rank", "1", "--run", first_id(file)) == 0
        assert server.requests[-1].json["prompt"] == "Write 漢"


def test_bytes_that_a_server_replaced_are_never_sent_as_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "s.toml"
    with serving_beside(answering((BYTE_TOKENS / "replaced.response").read_bytes())) as server:
        record_byte_tokens(file, server.base_url)
        for token, rank in (("1", "1"), ("2", "1"), ("2", "2")):
            with pytest.raises(SystemExit):
                branch(file, server.base_url, "--token", token, "--rank", rank)
            assert "The bytes of a token are unknown" in capsys.readouterr().err
        assert len(server.requests) == 1
        assert branch(file, server.base_url, "--token", "1", "--rank", "2") == 0
        assert server.requests[-1].json["prompt"] == "Write A"


def test_the_bytes_of_tokens_that_are_no_text_are_in_the_json(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    with serving_beside(answering((BYTE_TOKENS / "escaped.response").read_bytes())) as server:
        main(["run", "--prompt", "x", "--logprobs", "2", "--endpoint", server.base_url, "--json"])
    first, last = json.loads(capfdbinary.readouterr().out)["choices"][0]["tokens"]
    assert first["bytes"] == [0xE6, 0xBC]
    assert [(alternative["text"], alternative.get("bytes")) for alternative in first["alternatives"]] == [
        ("", [0xE6, 0xBC]),
        (" ink", None),
    ]
    assert [alternative["bytes"] for alternative in last["alternatives"]] == [[0xA2], [0x95]]
