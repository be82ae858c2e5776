"""Setting endpoints up by fields, and saving them into files that a person wrote."""

from __future__ import annotations

import os

import pytest

from tests.storage.test_endpoint_list import FULL
from workbench.domain.endpoint import CommandKey, Endpoint, EnvironmentKey, Prices
from workbench.domain.errors import BadValueError, StorageError
from workbench.domain.parameter_table import Range
from workbench.storage.endpoint_editing import (
    ENDPOINT_FIELDS,
    looks_like_key,
    save_endpoint,
    texts_of,
    with_texts,
)
from workbench.storage.endpoint_list import endpoints_folder, load_endpoints
from workbench.storage.files import Folders

WRITTEN = """\
# My GPU box, see the wiki.
like = "vllm"
base_url = "http://gpu:8000/v1"  # behind the tunnel
concurrency = 8

[key]  # from the vault
environment = "GPU_KEY"
"""


@pytest.fixture
def folders() -> Folders:
    found = Folders.default(os.environ)
    endpoints_folder(found).mkdir(parents=True)
    (endpoints_folder(found) / "gpu.toml").write_text(WRITTEN, encoding="utf-8")
    return found


def saved(folders: Folders, endpoint: Endpoint, was: str = "gpu", like: str = "") -> str:
    """The file's text after an endpoint was saved, which reads back as it was."""
    path = save_endpoint(folders, endpoint, load_endpoints(folders), was=was, like=like)
    assert load_endpoints(folders).endpoints[endpoint.name] == endpoint
    return path.read_text(encoding="utf-8")


def test_only_what_differs_is_changed_in_the_file(folders: Folders) -> None:
    gpu = load_endpoints(folders).endpoints["gpu"]
    assert saved(folders, gpu) == WRITTEN
    changed = gpu._replace(base_url="http://other/v1", key=EnvironmentKey("B"), headers={"X": "y"})
    text = WRITTEN.replace("http://gpu:8000/v1", "http://other/v1").replace("GPU_KEY", "B")
    assert saved(folders, changed) == f'{text}\n[headers]\nX = "y"\n'


def test_what_was_taken_over_can_be_set_back(folders: Folders) -> None:
    gpu = load_endpoints(folders).endpoints["gpu"]
    assert gpu.lenient
    assert gpu.limits
    assert 'like = "vllm"' in saved(folders, gpu._replace(lenient=False))
    text = saved(folders, gpu._replace(limits={}))
    assert "like" not in text
    assert "# My GPU box" in text
    assert "# behind the tunnel" in text
    assert "# from the vault" in saved(folders, gpu._replace(key=CommandKey(("pass", "gpu"))))


def test_a_renamed_endpoint_takes_its_file_along(folders: Folders) -> None:
    gpu = load_endpoints(folders).endpoints["gpu"]
    assert saved(folders, gpu._replace(name="cellar")) == WRITTEN
    assert "gpu" not in load_endpoints(folders).endpoints
    with pytest.raises(StorageError, match="already") as caught:
        saved(folders, gpu._replace(name="cellar"), was="")
    assert caught.value.key == "name"


def test_a_new_one_is_like_the_program_s_profile_it_began_as(folders: Folders) -> None:
    vllm = load_endpoints(folders).shipped["vllm"]
    text = saved(folders, vllm._replace(name="mine", base_url="http://m/v1"), was="", like="vllm")
    assert text.startswith('like = "vllm"\nbase_url = "http://m/v1"\n')
    assert saved(folders, FULL._replace(name="full"), was="", like="vllm").count("like") == 0
    assert saved(folders, Endpoint("plain", "http://p/v1"), was="") == 'base_url = "http://p/v1"\n'


def test_what_is_wrong_names_its_key(folders: Folders) -> None:
    gpu = load_endpoints(folders).endpoints["gpu"]
    wrong: dict[str, Endpoint] = {
        "base_url": gpu._replace(base_url="nonsense"),
        "headers.Cookie": gpu._replace(headers={"Cookie": "x"}),
        "aliases.nope": gpu._replace(aliases={"nope": "x"}),
        "drop": gpu._replace(drop=frozenset({"nope"})),
        "name": gpu._replace(name="../x"),
    }
    for key, endpoint in wrong.items():
        with pytest.raises(StorageError) as caught:
            saved(folders, endpoint)
        assert caught.value.key == key
    assert (endpoints_folder(folders) / "gpu.toml").read_text(encoding="utf-8") == WRITTEN


def test_every_field_goes_to_text_and_back() -> None:
    for endpoint in (FULL, Endpoint("a", "http://a/v1"), FULL._replace(key=EnvironmentKey("K"))):
        again = endpoint
        for name, text in texts_of(endpoint).items():
            emptied = with_texts(endpoint, {name: ""}) if name not in ("name", "base_url") else endpoint
            again = with_texts(emptied, {name: text})
            if name == "limits":
                assert list(again.limits) == list(endpoint.limits)
            else:
                assert again == endpoint


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("key.environment", "$MY_KEY", {"key": EnvironmentKey("MY_KEY")}),
        ("key.command", "pass show 'a b'", {"key": CommandKey(("pass", "show", "a b"))}),
        ("limits", "top_k=0..100; n = 1 … 5", {"limits": {"top_k": Range(0, 100), "n": Range(1, 5)}}),
        ("drop", "n, ,best_of", {"drop": frozenset({"n", "best_of"})}),
        ("prices.completion", "0.0000001", {"prices": Prices(0, 1e-07)}),
        ("raw_logprobs", "off", {"raw_logprobs": False}),
        ("retries", "", {"retries": 2}),
    ],
)
def test_texts_are_read_as_a_person_means_them(name: str, text: str, expected: dict[str, object]) -> None:
    endpoint = Endpoint("a", "http://a/v1")._replace(retries=5)
    changed = with_texts(endpoint, {name: text})
    assert {field: getattr(changed, field) for field in expected} == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("concurrency", "0"),
        ("retries", "1.5"),
        ("timeouts.read", "soon"),
        ("timeouts.read", "nan"),
        ("prices.prompt", "-1"),
        ("verify", "maybe"),
        ("headers", "X"),
        ("limits", "top_k = 1"),
        ("key.command", "pass 'x"),
        ("key.environment", "my key"),
        ("nonsense", "1"),
    ],
)
def test_texts_that_mean_nothing_name_their_field(name: str, text: str) -> None:
    with pytest.raises(BadValueError) as caught:
        with_texts(Endpoint("a", "http://a/v1"), {name: text})
    assert caught.value.field == name


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-abc123",
        "sk_live_51H8abcdefgh",
        "gsk_abcdefgh",
        "hf_abcdefghij",
        "3f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c",
        "a1b2c3d4e5f6a7b8c9d0e1f2",
        "AIzaSyA1234567890",
        "eyJhbGciOi.eyJzdWIiOiIx.SflKxwRJ1",
    ],
)
def test_a_key_in_the_variable_s_place_is_refused_with_the_place_where_it_belongs(key: str) -> None:
    assert looks_like_key(key)
    with pytest.raises(BadValueError) as caught:
        with_texts(Endpoint("a", "http://a/v1"), {"key.environment": key})
    assert caught.value.field == "key.environment"
    assert "environment variable" in caught.value.hint
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["JIEKOU_API_KEY", "MY_KEY_2", "k", "", "my key", "openai_api_key_of_my_team"]
)
def test_names_of_variables_do_not_look_like_keys(name: str) -> None:
    assert not looks_like_key(name)


@pytest.mark.parametrize("command", ["echo 'sk-proj-abc123'", 'echo "sk-proj-abc123"', "sk-proj-abc123"])
def test_a_key_in_a_command_is_refused_in_quotes_too(command: str) -> None:
    with pytest.raises(BadValueError, match="looks like a key"):
        with_texts(Endpoint("a", "http://a/v1"), {"key.command": command})


def test_every_field_has_its_name_once_and_helps() -> None:
    names = [field.name for field in ENDPOINT_FIELDS]
    assert len(set(names)) == len(names)
    assert all(field.help for field in ENDPOINT_FIELDS)


@pytest.mark.parametrize("name", ["base_url", "model", "note", "headers", "proxy"])
def test_a_key_pasted_into_any_other_field_is_refused_too(name: str) -> None:
    text = "X-Title: sk-proj-abc123def456" if name == "headers" else "sk-proj-abc123def456"
    with pytest.raises(BadValueError, match="looks like a key") as caught:
        with_texts(Endpoint("a", "http://a/v1"), {name: text})
    assert (caught.value.field, "abc123" in str(caught.value)) == (name, False)
