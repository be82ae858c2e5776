"""Files that an editor saved with a byte order mark are read as without it, and the model never gets it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.cli.in_process import serving_beside
from tests.client.loopback import DONE, answering, event
from workbench.cli import main

ANSWER = answering(event(" fine", finish_reason="stop") + DONE)
TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"
TOKENIZER = json.dumps({"chat_template": TEMPLATE, "eos_token": "</s>"})
RUN = json.dumps({"run": "a1", "request": {"prompt": "hi"}, "choices": [{"index": 0, "text": " fine day"}]})
CURL = """curl http://127.0.0.1:9/v1/completions -d '{"prompt": "Once"}'"""


def saved(folder: Path, name: str, text: str) -> str:
    """A file as Notepad saves it."""
    path = folder / name
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    return str(path)


def prompt_of(*options: str) -> object:
    """The prompt that a run with some options sends."""
    with serving_beside(ANSWER) as server:
        assert main(["run", "--endpoint", server.base_url, "--model", "m", *options]) == 0
        return server.requests[0].json["prompt"]


def test_a_prompt(tmp_path: Path) -> None:
    assert prompt_of("--prompt-file", saved(tmp_path, "a.txt", "hello\ufeff")) == "hello\ufeff"


def test_a_prompt_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbfhello")))
    assert prompt_of("--prompt-file", "-") == "hello"


@pytest.mark.parametrize(("name", "text"), [("a.toml", 'name = "Ada"'), ("a.json", '{"name": "Ada"}')])
def test_variables(name: str, text: str, tmp_path: Path) -> None:
    assert prompt_of("--prompt", "Dear {{name}}", "--vars", saved(tmp_path, name, text)) == "Dear Ada"


@pytest.mark.parametrize(("name", "text"), [("a.jinja", TEMPLATE), ("tokenizer_config.json", TOKENIZER)])
def test_a_conversation_and_its_template(name: str, text: str, tmp_path: Path) -> None:
    turns = saved(tmp_path, "turns.json", '[{"role": "user", "content": "Hi"}]')
    assert prompt_of("--chat", turns, "--template", saved(tmp_path, name, text)) == "<user>Hi<assistant>"


@pytest.mark.parametrize(
    ("text", "printed"), [(RUN, "1 of 1 runs imported"), (CURL, "is now the session's draft")]
)
def test_an_import(text: str, printed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, session = saved(tmp_path, "a.txt", text), tmp_path / "s.toml"
    assert main(["import", source, "--session", str(session)]) == 0
    assert printed in capsys.readouterr().out


def test_a_configuration_and_a_preset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "home" / "config"
    (folder / "presets").mkdir(parents=True)
    (folder / "endpoints").mkdir()
    with serving_beside(ANSWER) as server:
        saved(folder / "endpoints", "lab.toml", f'base_url = "{server.base_url}"')
        saved(folder / "presets", "warm.toml", "[parameters]\ntemperature = 0.75\n")
        at_lab = ["--endpoint", "lab", "--model", "m", "--json"]
        assert main(["compare", "--prompt", "hi", "--preset", "warm", "--preset", "greedy", *at_lab]) == 0
        sent = [request.json.get("temperature") for request in server.requests]
    assert "warm.toml" not in capsys.readouterr().err
    assert 0.75 in sent
