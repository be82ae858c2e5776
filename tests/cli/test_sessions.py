"""`workbench sessions`, `export` and `import`: sessions as scripts use them."""

from __future__ import annotations

import argparse
import io
import json
import os
from pathlib import Path

import pytest

from tests.domain.builders import choice_of, run_of, token_of
from workbench.cli import main, serve
from workbench.domain.run import Run
from workbench.domain.session import Draft, Session
from workbench.runner.import_curl import curl_from_text
from workbench.storage.files import Folders
from workbench.storage.session_store import SessionStore
from workbench.storage.sessions_folder import Library

CURL = """curl http://127.0.0.1:9/v1/completions \\
  -H 'Authorization: Bearer sk_secret' \\
  -d '{"model": "m", "prompt": "Once", "temperature": 0.5, "max_tokens": 4}'
"""


def upon(text: str = " upon a \x1b[31mtime") -> Run:
    """A run of one token."""
    return run_of(choice_of([token_of(text, 0.5, other=0.1)]))


def session_file(path: Path, *runs: Run, title: str = "") -> Path:
    """A session's file that holds runs."""
    store = SessionStore.create(path, Session(title=title))
    for run in runs:
        store.finish(run)
    store.close()
    return path


def listed(title: str, answer: str) -> Path:
    """A session in the sessions folder."""
    return session_file(Library(Folders.default(os.environ)).new_path(title), upon(f" {answer}"), title=title)


def answers(path: Path) -> list[str]:
    """The answers that a session's file holds."""
    opened = SessionStore.open(path)
    opened.store.close()
    return [run.ordered[0].text for run in opened.session.runs]


def draft(path: Path) -> Draft:
    """The draft that a session's file holds."""
    opened = SessionStore.open(path)
    opened.store.close()
    return opened.session.draft


# --- sessions -----------------------------------------------------------------------------------------------


def test_sessions_are_found_by_the_words_of_their_answers(capsys: pytest.CaptureFixture[str]) -> None:
    path = listed("Light[house", "Zanzibar")
    listed("other", "Timbuktu")
    assert main(["sessions", "--search", "zanz LIGHT", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["path"], found["title"], found["runs"], found["error"]) == (
        str(path),
        "Light[house",
        1,
        None,
    )


def test_the_table_holds_every_session_and_says_why_a_file_is_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = listed("[red]Light\x1b[31m", "x")
    path.with_name("broken.toml").write_text('format = 1\nid = "x\n')
    assert main(["sessions"]) == 0
    printed = capsys.readouterr().out
    assert "[red]Light\\e[31m" in printed
    assert "broken — not a session: line 2" in " ".join(printed.split())


def test_where_there_is_no_session_that_is_said_and_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions"]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "no sessions yet" in printed.err
    assert main(["sessions", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


# --- export -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        ("markdown", "# Tale\n"),
        ("jsonl", '{"id": '),
        ("html", "<!doctype html>"),
        ("svg", "<svg "),
        ("text", "Once upon"),
        ("curl", "curl http://127.0.0.1:9/v1/completions "),
        ("python", "import json\n"),
    ],
)
def test_a_session_of_one_run_is_exported_in_every_form(
    form: str, begins: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = upon()
    run.endpoint = "http://127.0.0.1:9/v1"
    file = session_file(tmp_path / "tale.toml", run, title="Tale")
    assert main(["export", str(file), "--to", form]) == 0
    assert capsys.readouterr().out.startswith(begins)


def test_one_run_of_several_is_exported_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = upon(" one"), upon(" two")
    file, target = session_file(tmp_path / "s.toml", first, second), tmp_path / "out.txt"
    assert main(["export", str(file), "--to", "text", "--run", second.id[:12], "--output", str(target)]) == 0
    assert capsys.readouterr().out == ""
    assert target.read_text() == "Once two\n"


def test_a_form_of_one_run_asks_which_of_several(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = upon(), upon()
    file = session_file(tmp_path / "s.toml", first, second)
    with pytest.raises(SystemExit) as caught:
        main(["export", str(file), "--to", "svg"])
    assert caught.value.code == 2
    assert second.id[:8] in capsys.readouterr().err


def test_an_export_never_replaces_its_own_session(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = session_file(tmp_path / "s.toml", upon())
    before = file.read_bytes()
    with pytest.raises(SystemExit):
        main(["export", str(file), "--to", "text", "--output", str(file)])
    assert "would be lost" in capsys.readouterr().err
    assert file.read_bytes() == before


def test_curl_is_sent_where_the_options_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = session_file(tmp_path / "s.toml", upon())
    assert main(["export", str(file), "--to", "curl", "--endpoint", "openai"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("curl https://api.openai.com/v1/completions")
    assert "Bearer $OPENAI_API_KEY" in printed


@pytest.mark.parametrize("form", ["curl", "python"])
def test_a_request_of_the_local_server_is_exported_for_one_that_a_person_starts(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = upon()
    run.endpoint, run.model = "local", "smollm2"
    file = session_file(tmp_path / "s.toml", run)
    assert main(["export", str(file), "--to", form]) == 0
    printed = capsys.readouterr().out
    parser = argparse.ArgumentParser()
    serve.configure(parser)
    options = parser.parse_args([])
    assert printed.startswith(f"# Start the local server first: workbench serve --port {options.port}\n")
    assert f"http://{options.host}:{options.port}/v1/completions" in printed
    assert options.api_key_env is None
    assert "Authorization" not in printed
    assert "smollm2" in printed, "the local server refuses a request that names no model"
    if form == "curl":
        assert curl_from_text(printed).request.model == "smollm2"


def test_an_exported_request_has_the_profile_s_headers_and_the_key_where_it_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = Folders.default(os.environ)
    (folders.config / "endpoints").mkdir(parents=True)
    profile = (
        'base_url = "http://127.0.0.1:9/v1"\n[key]\nenvironment = "MINE"\nheader = "api-key"\n'
        '[headers]\nX-Title = "it"\n'
    )
    (folders.config / "endpoints" / "mine.toml").write_text(profile, encoding="utf-8")
    run = upon()
    run.endpoint = "mine"
    file = session_file(tmp_path / "s.toml", run)
    assert main(["export", str(file), "--to", "curl"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("curl http://127.0.0.1:9/v1/completions ")
    assert "-H 'X-Title: it'" in printed
    assert '-H "api-key: $MINE"' in printed
    assert "Authorization" not in printed


def test_a_missing_session_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "/nowhere/at/all.toml", "--to", "text"]) == 1
    assert "all.toml cannot be read" in capsys.readouterr().err


# --- import -------------------------------------------------------------------------------------------------


def test_exported_runs_come_back_once_however_often_they_are_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = upon(" one"), upon(" two\r\n\u2028")
    file, lines = session_file(tmp_path / "s.toml", first, second), tmp_path / "runs.jsonl"
    copy = tmp_path / "copy.toml"
    assert main(["export", str(file), "--to", "jsonl", "--output", str(lines)]) == 0
    assert main(["import", str(lines), "--session", str(copy)]) == 0
    assert "2 of 2 runs imported" in capsys.readouterr().out
    assert answers(copy) == answers(file) == [" one", " two\r\n\u2028"]
    assert main(["import", str(lines), "--session", str(copy)]) == 0
    assert "0 of 2 runs imported" in capsys.readouterr().out
    assert len(answers(copy)) == 2


def test_a_curl_command_becomes_the_draft_without_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(CURL.encode())))
    file = tmp_path / "s.toml"
    assert main(["import", "-", "--session", str(file)]) == 0
    taken = draft(file)
    assert (taken.prompt, taken.model, taken.endpoint) == ("Once", "m", "http://127.0.0.1:9/v1")
    assert taken.parameters.to_json() == {"temperature": 0.5, "max_tokens": 4}
    assert all(b"sk_secret" not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_known_address_is_its_profile(tmp_path: Path) -> None:
    command = tmp_path / "command"
    command.write_text(CURL.replace("http://127.0.0.1:9", "https://api.openai.com"))
    file = tmp_path / "s.toml"
    assert main(["import", str(command), "--session", str(file)]) == 0
    assert draft(file).endpoint == "openai"


def test_a_draft_is_never_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, command = tmp_path / "s.toml", tmp_path / "command"
    store = SessionStore.create(file)
    store.save_draft(Draft(prompt="precious"))
    store.close()
    command.write_text(CURL)
    assert main(["import", str(command), "--session", str(file)]) == 1
    assert "has a draft already" in capsys.readouterr().err
    assert draft(file).prompt == "precious"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"choices": 1', "in, line 1: cannot be imported"),
        (b'{"choices": []}\n{"a": 1}', "in, line 2: cannot be imported"),
        (b'{"choices": [{"message": {"content": "a"}}]}', "a choice has no text"),
        (b'{"request": {"prompt": "a"}, "choices": [{"text": null}]}', "a choice has no text"),
        (b"", "has no runs"),
        (b"\xff", "in is not UTF-8"),
    ],
)
def test_what_cannot_be_imported_is_named_and_makes_no_session(
    data: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, file = tmp_path / "in", tmp_path / "s.toml"
    source.write_bytes(data)
    assert main(["import", str(source), "--session", str(file)]) == 1
    assert message in capsys.readouterr().err
    assert not file.exists()


def test_a_curl_command_that_sends_no_completion_is_refused_and_makes_no_session(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, file = tmp_path / "in", tmp_path / "s.toml"
    source.write_text("curl http://a")
    with pytest.raises(SystemExit) as left:
        main(["import", str(source), "--session", str(file)])
    assert left.value.code == 2
    assert "cannot be imported" in capsys.readouterr().err
    assert not file.exists()
