"""Whatever file is read may hold what a parser gives up at: that is an error, or a file without content."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.chat.template_sources import load_templates
from workbench.cli.chat_options import read_conversation
from workbench.domain.errors import StorageError, WorkbenchError
from workbench.runner.import_curl import curl_from_text
from workbench.storage.check_progress import CheckProgress
from workbench.storage.config import State, config_file, load_config, load_state
from workbench.storage.endpoint_list import endpoints_folder, load_endpoints, profile_text
from workbench.storage.files import Folders, is_missing, write_atomically
from workbench.storage.journal import read_journal
from workbench.storage.json_lines import runs_from_json_lines
from workbench.storage.presets import load_presets, presets_folder, read_preset
from workbench.storage.probes import load_probe, probe_file
from workbench.storage.prompt_sets import read_prompts
from workbench.storage.session_store import SessionStore
from workbench.storage.sessions_folder import Library
from workbench.storage.sidecars import read_draft
from workbench.storage.toml_files import read_toml
from workbench.storage.variable_files import load_variables
from workbench.tui.theme.theme_files import load_themes

TOML = {
    "a number of 5,000 digits": "\nname = " + "1" * 5000,
    "a hexadecimal number of 5,000 digits": "\nname = 0x" + "f" * 5000,
    "an array that nests endlessly": "\nname = " + "[" * 100_000,
    "a key that nests endlessly": "\nname" + ".a" * 100_000 + " = 1",
    "an array that nests deeply": "\nname = " + "[" * 300 + "]" * 300,
    "a key that nests deeply": "\nname" + ".a" * 300 + " = 1",
}
JSON = {
    "a number of 5,000 digits": "1" * 5000,
    "an array that nests endlessly": "[" * 100_000,
    "an object that nests endlessly": '{"a":' * 100_000,
    "a member that nests endlessly": '{"run": ' + "[" * 100_000,
    "a member that nests deeply": '{"prompt": "a", "request": {"prompt": ' + "[" * 300 + "]" * 300 + "}}",
}


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path / "config", tmp_path / "data", tmp_path / "state")


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize("text", TOML.values(), ids=TOML)
@pytest.mark.parametrize("read", [read_toml, read_preset, load_variables])
def test_a_toml_file_is_named_with_what_is_wrong(
    tmp_path: Path, read: Callable[[Path], object], text: str
) -> None:
    with pytest.raises(WorkbenchError, match=r"mine\.toml") as caught:
        read(written(tmp_path / "mine.toml", text))
    assert "nested too deeply" in str(caught.value) or "too many digits" in str(caught.value)


@pytest.mark.parametrize("text", TOML.values(), ids=TOML)
def test_a_persons_files_are_left_out_with_a_problem_in_their_second_line(
    folders: Folders, text: str
) -> None:
    written(config_file(folders), text)
    written(presets_folder(folders) / "mine.toml", text)
    written(endpoints_folder(folders) / "mine.toml", text)
    problems = [
        *load_config(folders).problems,
        *load_presets(folders).problems,
        *load_endpoints(folders).problems,
    ]
    assert [problem.line for problem in problems] == [2, 2, 2]


@pytest.mark.parametrize("text", TOML.values(), ids=TOML)
def test_what_the_program_remembers_is_forgotten(folders: Folders, text: str) -> None:
    written(folders.state / "state.toml", text)
    written(probe_file(folders, "local"), text)
    assert load_state(folders) == load_state(Folders(*[folders.data] * 3))
    assert load_probe(folders, "local") is None


@pytest.mark.parametrize("text", TOML.values(), ids=TOML)
def test_a_session_opens_read_only_and_is_listed_with_the_line(folders: Folders, text: str) -> None:
    path = written(Library(folders).folder / "mine.toml", f"format = 1\n{text}\n[draft]\n")
    opened = SessionStore.open(path)
    opened.store.close()
    assert opened.error is not None
    assert opened.read_only
    assert opened.error.line == 3
    (listed,) = Library(folders).sessions()
    assert (listed.error, listed.line) == (opened.error.message, 3)


@pytest.mark.parametrize("text", JSON.values(), ids=JSON)
@pytest.mark.parametrize(
    ("read", "name"),
    [
        (load_variables, "mine.json"),
        (read_prompts, "mine.jsonl"),
        (load_templates, "mine.json"),
        (lambda path: read_conversation(str(path)), "mine.json"),
        (lambda path: runs_from_json_lines(path.read_text(), str(path)), "mine.jsonl"),
        (lambda path: curl_from_text(f"curl http://h/v1 -d '{path.read_text()}'"), "mine.sh"),
    ],
)
def test_a_json_file_is_an_error(
    tmp_path: Path, read: Callable[[Path], object], name: str, text: str
) -> None:
    with pytest.raises(WorkbenchError):
        read(written(tmp_path / name, text))


@pytest.mark.parametrize("text", JSON.values(), ids=JSON)
def test_json_in_a_preset_or_a_session_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(WorkbenchError):
        read_preset(written(tmp_path / "preset.toml", f"extra = '{text}'"))
    run = "[[runs]]\nrequest = { prompt = 'a' }\n"
    for rest in (f"request_json = {{ stop = '{text}' }}\n", f"[[runs.tokens]]\ntext = '{text}'\n"):
        opened = SessionStore.open(written(tmp_path / "session.toml", f"format = 1\n\n{run}{rest}"))
        opened.store.close()
        assert opened.error is not None


@pytest.mark.parametrize("text", JSON.values(), ids=JSON)
def test_a_sidecar_and_an_index_hold_nothing(folders: Folders, text: str) -> None:
    assert read_journal(written(folders.data / "a.run", f"{text}\n")) is None
    assert read_draft(written(folders.data / "a.draft", text)) is None
    written(folders.state / "sessions.json", text)
    Library(folders).folder.mkdir()
    assert Library(folders).sessions() == []


def test_a_journal_keeps_what_came_before_a_line_that_is_none(tmp_path: Path) -> None:
    header = "{\"run\": \"id = 'a'\\n[request]\\nprompt = 'p'\\n\"}\n"
    for line in ("[" * 100_000, "[]", "1", '"run"', '{"run": 1}', '{"append": Infinity}', '{"choice": []}'):
        found = read_journal(written(tmp_path / "a.run", f"{header}{line}\n"))
        assert found is not None
        assert (found.run.id, found.offset) == ("a", None)


def test_a_line_of_a_checks_progress_that_nests_endlessly_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path / "progress", '{}\n{"x": ' + "[" * 100_000 + "\n")
    with pytest.raises(WorkbenchError, match="progress cannot hold"):
        CheckProgress(path, {})


def test_a_prompt_may_hold_endless_digits(tmp_path: Path) -> None:
    text = "0x" + "f" * 5000
    opened = SessionStore.open(written(tmp_path / "mine.toml", f'format = 1\n[draft]\nprompt = "{text}"\n'))
    opened.store.close()
    assert opened.session.draft.prompt == text


@pytest.fixture(params=["pipe", "device"])
def endless(request: pytest.FixtureRequest) -> Callable[[Path], Path]:
    """Make a file whose end never comes."""

    def make(path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        if request.param == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to("/dev/zero")
        return path

    return make


@pytest.mark.timeout(10)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such files")
def test_a_pipe_or_device_in_the_folders_is_refused_at_once(
    folders: Folders, endless: Callable[[Path], Path]
) -> None:
    for folder in (folders.config, presets_folder(folders), endpoints_folder(folders)):
        endless(folder / "config.toml")
    endless(folders.state / "state.toml")
    problems = [
        *load_config(folders).problems,
        *load_presets(folders).problems,
        *load_endpoints(folders).problems,
    ]
    assert [problem.message for problem in problems] == ["It is a pipe or a device"] * 3
    assert load_state(folders) == State()
    library = Library(folders)
    path = endless(library.folder / "s.toml")
    assert [listed.error for listed in library.sessions()] == ["It is a pipe or a device"]
    with pytest.raises(WorkbenchError, match="It is a pipe or a device"):
        SessionStore.open(path)
    before = path.lstat()
    with pytest.raises(WorkbenchError, match=r"cannot be written\nIt is a pipe or a device"):
        write_atomically(path, b"new")
    assert (path.lstat().st_ino, path.lstat().st_mode) == (before.st_ino, before.st_mode)


@pytest.mark.timeout(10)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such files")
def test_an_open_session_whose_file_becomes_a_pipe_or_device_waits_until_it_is_gone(
    tmp_path: Path, endless: Callable[[Path], Path]
) -> None:
    store = SessionStore.create(tmp_path / "s.toml")
    store.rename("title")
    store.path.unlink()
    endless(store.path)
    with pytest.raises(StorageError, match="It is a pipe or a device"):
        store.rename("another title")
    store.path.unlink()
    store.close()
    assert SessionStore.open(store.path).session.title == "another title"


@pytest.mark.parametrize("folder", [presets_folder, endpoints_folder])
def test_a_folder_that_cannot_be_listed_is_a_problem_that_says_where(
    folder: Callable[[Folders], Path], folders: Folders
) -> None:
    path = written(folder(folders), "a file")
    (problem,) = [*load_presets(folders).problems, *load_endpoints(folders).problems]
    (same,) = load_themes(path).problems
    assert str(same) == str(problem)
    assert str(problem) == (f"{path.name} cannot be read\nNot a directory\nCheck {path} and its permissions.")
    assert "openai" in load_endpoints(folders).endpoints
    assert "greedy" in load_presets(folders).presets


def test_a_folder_that_may_not_be_entered_is_a_problem_and_not_the_end(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(config_file(folders), "")

    def refuse(path: Path, **options: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "stat", refuse)
    monkeypatch.setattr("workbench.storage.files.open_regular", refuse)
    (problem,) = load_config(folders).problems
    assert (problem.title, problem.message) == ("config.toml cannot be read", "Permission denied")
    with pytest.raises(StorageError, match="Permission denied"):
        profile_text(folders, "openai")
    with pytest.raises(WorkbenchError, match="Permission denied"):
        load_templates(folders.config / "chat_template.jinja")
    assert not is_missing(config_file(folders))
