"""Endpoint profiles: the program's own, a person's, bare URLs, and never a key in a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from workbench.domain.endpoint import CommandKey, Endpoint, EnvironmentKey, Prices, Timeouts
from workbench.domain.errors import BadValueError, StorageError
from workbench.domain.parameter_table import Range
from workbench.storage.endpoint_editing import save_endpoint
from workbench.storage.endpoint_list import (
    delete_endpoint,
    endpoint_for,
    endpoints_folder,
    load_endpoints,
    offered,
)
from workbench.storage.files import Folders

SECRET = "sk-THISISASECRETKEY0123456789"
SHIPPED = {
    "deepseek",
    "fireworks",
    "jiekou",
    "koboldcpp",
    "llamacpp",
    "llamacpppython",
    "lmstudio",
    "local",
    "mlx",
    "ollama",
    "openai",
    "openai-compatible",
    "openrouter",
    "sglang",
    "tabbyapi",
    "textgen",
    "together",
    "vllm",
}


@pytest.fixture
def folders() -> Folders:
    return Folders.default(os.environ)


def write(folders: Folders, name: str, text: str) -> Path:
    path = endpoints_folder(folders) / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def message_of(error: StorageError | BadValueError) -> str:
    return f"{error.title} {error.message} {error.hint}"


def test_every_shipped_profile_is_read_without_a_problem(folders: Folders) -> None:
    loaded = load_endpoints(folders)
    assert loaded.problems == []
    assert set(loaded.endpoints) == SHIPPED
    assert all(endpoint.title and endpoint.note for endpoint in loaded.endpoints.values())
    assert not loaded.own


def test_the_local_endpoint_comes_first_and_the_primary_provider_second(folders: Folders) -> None:
    assert list(load_endpoints(folders).endpoints)[:3] == ["local", "jiekou", "openai"]


def test_the_primary_provider_is_as_its_documentation_says(folders: Folders) -> None:
    jiekou = load_endpoints(folders).endpoints["jiekou"]
    assert jiekou.base_url == "https://api.jiekou.ai/openai/v1"
    assert jiekou.key == EnvironmentKey("JIEKOU_API_KEY")
    assert not jiekou.drop
    assert not jiekou.lenient


def test_keys_leave_this_machine_encrypted(folders: Folders) -> None:
    for endpoint in load_endpoints(folders).endpoints.values():
        if endpoint.key is not None and not endpoint.base_url.startswith("http://127.0.0.1"):
            assert endpoint.base_url.startswith("https://"), endpoint.name


def test_llamacpp_is_never_sent_what_it_refuses_or_reads_under_another_name(folders: Folders) -> None:
    llamacpp = load_endpoints(folders).endpoints["llamacpp"]
    assert "best_of" in llamacpp.drop
    assert llamacpp.aliases["repetition_penalty"] == "repeat_penalty"
    assert llamacpp.tokenizer


def test_a_persons_profile_is_added_and_one_of_the_same_name_replaces(folders: Folders) -> None:
    write(folders, "mine", 'base_url = "http://10.0.0.5:9000/v1"\nmodel = "m"\n')
    write(folders, "vllm", 'base_url = "http://gpu:8000/v1"\n')
    loaded = load_endpoints(folders)
    assert loaded.problems == []
    assert loaded.endpoints["mine"] == Endpoint("mine", "http://10.0.0.5:9000/v1", model="m")
    assert loaded.endpoints["vllm"] == Endpoint("vllm", "http://gpu:8000/v1")
    assert loaded.own == {"mine", "vllm"}


def test_like_takes_over_habits_but_neither_address_nor_key(folders: Folders) -> None:
    write(folders, "gpu", 'like = "llamacpp"\nbase_url = "http://gpu:8080/v1"\nconcurrency = 8\n')
    write(folders, "proxy", 'like = "jiekou"\nbase_url = "https://elsewhere.example/v1"\n')
    loaded = load_endpoints(folders)
    gpu, shipped = loaded.endpoints["gpu"], loaded.endpoints["llamacpp"]
    assert (gpu.aliases, gpu.drop, gpu.limits) == (shipped.aliases, shipped.drop, shipped.limits)
    assert gpu.concurrency == 8
    assert loaded.endpoints["proxy"].key is None


def test_a_profile_that_is_wrong_is_named_and_left_out_and_not_replaced_by_the_shipped_one(
    folders: Folders,
) -> None:
    path = write(folders, "vllm", 'base_url = "http://gpu:8000/v1"\nbase_modle = "x"\n')
    loaded = load_endpoints(folders)
    assert "vllm" not in loaded.endpoints
    assert [(problem.path, problem.line) for problem in loaded.problems] == [(str(path), 2)]
    with pytest.raises(BadValueError) as caught:
        endpoint_for("vllm", None, loaded)
    assert "vllm.toml, line 2" in caught.value.title


def test_the_local_endpoint_is_there_whatever_its_file_says(folders: Folders) -> None:
    write(folders, "local", "base_url = 1\n")
    loaded = load_endpoints(folders)
    assert "local" in loaded.endpoints
    assert loaded.problems


@pytest.mark.parametrize(
    "text",
    [
        f'api_key = "{SECRET}"\n',
        f'key = "{SECRET}"\n',
        f'token = "{SECRET}"\n',
        f'[key]\nenvironment = "{SECRET}"\n',
        f'[key]\napi_key = "{SECRET}"\n',
        f'[headers]\nAuthorization = "Bearer {SECRET}"\n',
        f'[headers]\nX-Api-Key = "{SECRET}"\n',
        f'[headers]\nX-Thing = "{SECRET}"\n',
        f'[key]\nenvironment = "A"\ncommand = ["echo", "{SECRET}"]\n',
    ],
)
def test_a_key_in_a_file_is_refused_with_a_way_out_and_never_repeated(folders: Folders, text: str) -> None:
    write(folders, "mine", f'base_url = "https://host/v1"\n{text}')
    loaded = load_endpoints(folders)
    assert "mine" not in loaded.endpoints
    assert loaded.problems
    assert all(SECRET not in message_of(problem) for problem in loaded.problems)


def test_the_way_out_is_an_environment_variable_or_a_command(folders: Folders) -> None:
    write(folders, "mine", f'base_url = "https://host/v1"\napi_key = "{SECRET}"\n')
    (problem,) = load_endpoints(folders).problems
    assert "environment" in problem.hint
    assert "command" in problem.hint
    assert problem.line == 2


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("host/v1", "address"),
        ("ftp://host/v1", "address"),
        ("https://", "address"),
        ("https://host:99999/v1", "address"),
        ("https://ho st/v1", "address"),
        (f"https://me:{SECRET}@host/v1", "user name or password"),
        (f"https://host/v1?api_key={SECRET}", "key"),
    ],
)
def test_an_address_that_is_none_or_holds_a_secret_is_refused(
    folders: Folders, url: str, message: str
) -> None:
    write(folders, "mine", f'base_url = "{url}"\n')
    loaded = load_endpoints(folders)
    (problem,) = loaded.problems
    assert message in problem.title
    assert SECRET not in message_of(problem)
    if "://" in url:
        with pytest.raises(BadValueError) as caught:
            endpoint_for(url, None, loaded)
        assert message in caught.value.title
        assert SECRET not in message_of(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "base_url"),
        ('base_url = "https://h/v1"\nconcurrency = 0\n', 2, "at least 1"),
        ('base_url = "https://h/v1"\n[limits]\ntemprature = [0, 2]\n', 3, "not a known key"),
        ('base_url = "https://h/v1"\n[limits]\ntemperature = [2, 0]\n', 3, "lowest"),
        ('base_url = "https://h/v1"\n[aliases]\nrep = "x"\n', 3, "not a known key"),
        ('base_url = "https://h/v1"\ndrop = ["best"]\n', 2, "unknown parameters: best"),
        ('base_url = "https://h/v1"\nlike = "nobody"\n', 2, "profile"),
        ('base_url = "https://h/v1"\n[headers]\nX = "a\\r\\nb: c"\n', 3, "header"),
        ('base_url = "https://h/v1"\n[timeouts]\nread = nan\n', 3, "number"),
        ('base_url = "https://h/v1"\n[key]\n', 2, "where the key is found"),
        ('base_url = "https://h/v1"\n[key]\ncommand = "echo \'"\n', 3, "quote"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(
    folders: Folders, text: str, line: int | None, message: str
) -> None:
    write(folders, "mine", text)
    loaded = load_endpoints(folders)
    assert [problem.line for problem in loaded.problems] == [line]
    assert message in loaded.problems[0].title
    assert "mine" not in loaded.endpoints


def test_a_file_whose_name_is_no_endpoints_name_is_a_problem(folders: Folders) -> None:
    write(folders, "my server", 'base_url = "https://h/v1"\n')
    (problem,) = load_endpoints(folders).problems
    assert "my server" in problem.title


FULL = Endpoint(
    name="full",
    base_url="https://host:8443/v1",
    title="Füll [/x]",
    model="a/b",
    key=CommandKey(("pass", "show", "a b")),
    key_header="X-Api-Key",
    limits={"temperature": Range(0, 5), "top_p": Range(0, 1, low_open=True), "logprobs": Range(-1, 20)},
    lenient=True,
    aliases={"repetition_penalty": "repeat_penalty"},
    drop=frozenset({"best_of", "top_k"}),
    headers={"HTTP-Referer": "https://me"},
    prices=Prices(0.5, 1.5, "EUR"),
    timeouts=Timeouts(3, 30.5, 7),
    proxy="http://proxy:3128",
    trust_environment=True,
    ca_file="/ca.pem",
    client_certificate="/c.pem",
    client_key="/k.pem",
    verify=False,
    concurrency=2,
    requests_per_minute=30,
    retries=0,
    raw_logprobs=False,
    samplers=("top_k", "temperature"),
    tokenizer=True,
    single_prompt=True,
    single_choice=True,
    sends_ids=False,
    note='several\nlines "quoted"',
)


def test_a_saved_profile_reads_back_as_it_was(folders: Folders) -> None:
    save_endpoint(folders, FULL, load_endpoints(folders))
    assert load_endpoints(folders).endpoints["full"] == FULL
    for endpoint in load_endpoints(folders).endpoints.values():
        save_endpoint(folders, endpoint, load_endpoints(folders), was=endpoint.name)
    again = load_endpoints(folders)
    assert again.problems == []
    assert again.own == {*SHIPPED, "full"}


def test_saving_refuses_a_name_that_leaves_the_folder_and_what_could_not_be_read(folders: Folders) -> None:
    for endpoint in (
        Endpoint("../evil", "https://h/v1"),
        Endpoint("fine", "nonsense"),
        Endpoint("fine", "https://h/v1", key=EnvironmentKey(SECRET)),
        Endpoint("fine", "https://h/v1", headers={"Authorization": SECRET}),
    ):
        with pytest.raises(StorageError) as caught:
            save_endpoint(folders, endpoint, load_endpoints(folders))
        assert SECRET not in message_of(caught.value)
    assert not endpoints_folder(folders).exists()


def test_removing_a_persons_profile_brings_the_shipped_one_back(folders: Folders) -> None:
    write(folders, "vllm", 'base_url = "http://gpu:8000/v1"\n')
    delete_endpoint(folders, "vllm")
    assert "127.0.0.1" in load_endpoints(folders).endpoints["vllm"].base_url
    for name in ("vllm", "../config"):
        with pytest.raises(StorageError):
            delete_endpoint(folders, name)


def test_a_bare_url_gets_no_key_and_the_contracts_ranges_even_where_a_profile_has_that_address(
    folders: Folders,
) -> None:
    loaded = load_endpoints(folders)
    endpoint = endpoint_for("https://api.jiekou.ai/openai/v1", None, loaded)
    assert endpoint.key is None
    assert not endpoint.limits
    assert endpoint_for("https://h/v1", "MY_KEY", loaded).key == EnvironmentKey("MY_KEY")


def test_host_and_port_are_an_address_too(folders: Folders) -> None:
    loaded = load_endpoints(folders)
    assert endpoint_for("localhost:8080", None, loaded).base_url == "http://localhost:8080"
    assert endpoint_for("[::1]:8080/v1", None, loaded).base_url == "http://[::1]:8080/v1"


def test_a_named_variable_goes_before_the_profiles_own_key(folders: Folders) -> None:
    endpoint = endpoint_for("jiekou", "OTHER", load_endpoints(folders))
    assert endpoint.key == EnvironmentKey("OTHER")
    assert endpoint.base_url == "https://api.jiekou.ai/openai/v1"


def test_an_unknown_name_lists_the_known_ones_and_a_key_in_the_variables_place_is_not_repeated(
    folders: Folders,
) -> None:
    loaded = load_endpoints(folders)
    with pytest.raises(BadValueError) as caught:
        endpoint_for("jiekuo", None, loaded)
    assert "jiekou" in caught.value.hint
    for secret in (SECRET, "sk_abcdef"):
        with pytest.raises(BadValueError) as caught:
            endpoint_for("jiekou", secret, loaded)
        assert secret not in message_of(caught.value)


def test_endpoints_whose_key_is_present_are_offered(folders: Folders) -> None:
    loaded = load_endpoints(folders)
    assert offered(loaded, {}) == ()
    assert offered(loaded, {"JIEKOU_API_KEY": "  "}) == ()
    names = [endpoint.name for endpoint in offered(loaded, {"OPENAI_API_KEY": "a", "JIEKOU_API_KEY": "b"})]
    assert names == ["jiekou", "openai"]


def test_commands_may_be_written_as_one_line(folders: Folders) -> None:
    write(folders, "mine", "base_url = 'https://h/v1'\n[key]\ncommand = \"pass show 'a b'\"\n")
    assert load_endpoints(folders).endpoints["mine"].key == CommandKey(("pass", "show", "a b"))


@pytest.mark.parametrize("hidden", ["\u200b", "\u2060", "\u00ad", "\u200e", "\ufeff"])
def test_characters_that_nobody_sees_are_no_part_of_an_address(folders: Folders, hidden: str) -> None:
    write(folders, "mine", f'base_url = "https://host.example/v1{hidden}"\n')
    loaded = load_endpoints(folders)
    assert loaded.endpoints["mine"].base_url == "https://host.example/v1"
    bare = endpoint_for(f"https://host.example/v1{hidden}", None, loaded)
    assert (bare.name, bare.base_url) == ("https://host.example/v1", "https://host.example/v1")


@pytest.mark.parametrize("name", ["", " ", "\u200b"])
def test_an_endpoint_without_a_name_is_refused(folders: Folders, name: str) -> None:
    with pytest.raises(BadValueError, match="no endpoint is named"):
        endpoint_for(name, None, load_endpoints(folders))


def test_a_key_variable_without_a_name_is_refused(folders: Folders) -> None:
    with pytest.raises(BadValueError, match="not the name of an environment variable"):
        endpoint_for("local", "", load_endpoints(folders))


@pytest.mark.parametrize("scheme", ["http", "https", "socks5", "socks5h"])
def test_a_proxy_may_be_of_every_kind_that_the_client_knows(folders: Folders, scheme: str) -> None:
    write(folders, "mine", f'base_url = "https://host.example/v1"\nproxy = "{scheme}://127.0.0.1:1080"\n')
    loaded = load_endpoints(folders)
    assert loaded.problems == []
    assert loaded.endpoints["mine"].proxy == f"{scheme}://127.0.0.1:1080"


def test_a_proxy_of_another_kind_is_refused_with_an_example(folders: Folders) -> None:
    write(folders, "mine", 'base_url = "https://host.example/v1"\nproxy = "socks://127.0.0.1:1080"\n')
    (problem,) = load_endpoints(folders).problems
    assert "socks5://host:1080" in str(problem)
