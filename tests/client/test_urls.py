"""However a base URL is pasted, it leads to the same place."""

from __future__ import annotations

import pytest

from workbench.client.urls import normalise
from workbench.domain.errors import BadValueError, EndpointError
from workbench.domain.url_display import show_url
from workbench.storage.endpoint_list import EndpointList, endpoint_for


@pytest.mark.parametrize(
    "pasted",
    [
        "https://api.jiekou.ai/openai",
        "https://api.jiekou.ai/openai/",
        " https://api.jiekou.ai/openai/v1 ",
        "https://api.jiekou.ai/openai/v1/",
        "https://api.jiekou.ai/openai/v1/completions",
        "https://api.jiekou.ai/openai/v1/chat/completions",
        "https://api.jiekou.ai/openai/v1/models",
        "https://api.jiekou.ai/openai/v1/v1",
        "https://api.jiekou.ai//openai/v1",
        "api.jiekou.ai/openai",
        *(
            f"https://api.jiekou.ai/openai/v1{hidden}"
            for hidden in "\u200b\u2060\u00ad\u200e\ufeff\u3164\ufe0f"
        ),
        "\ufeffhttps://api.jiekou.\u200bai/openai/v1/ \u2060",
    ],
)
def test_every_form_leads_to_the_same_place(pasted: str) -> None:
    urls = normalise(pasted)
    assert urls.completions == "https://api.jiekou.ai/openai/v1/completions"
    assert urls.models == "https://api.jiekou.ai/openai/v1/models"


@pytest.mark.parametrize(
    ("pasted", "completions"),
    [
        ("localhost:8080", "http://localhost:8080/v1/completions"),
        ("127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1/completions"),
        ("http://[::1]:8080", "http://[::1]:8080/v1/completions"),
        ("https://api.deepseek.com/beta", "https://api.deepseek.com/beta/completions"),
        ("https://api.novita.ai/v3/openai", "https://api.novita.ai/v3/openai/completions"),
        (
            "https://x.openai.azure.com/openai/deployments/d/completions?api-version=1",
            "https://x.openai.azure.com/openai/deployments/d/completions?api-version=1",
        ),
    ],
)
def test_other_habits_are_kept(pasted: str, completions: str) -> None:
    assert normalise(pasted).completions == completions


def test_services_of_llama_cpp_lie_beside_the_version() -> None:
    assert normalise("http://localhost:1/v1").beside("tokenize") == "http://localhost:1/tokenize"


@pytest.mark.parametrize("pasted", ["", "ftp://x", "https://", "http://[", "https://x:port/"])
def test_what_is_no_address_is_refused(pasted: str) -> None:
    with pytest.raises(EndpointError) as caught:
        normalise(pasted)
    assert caught.value.hint


def test_names_and_passwords_are_not_shown() -> None:
    assert show_url("https://me:secret@x.example/v1?key=secret") == "https://x.example/v1"


@pytest.mark.parametrize(
    "pasted",
    [
        "http://[::1?key=secret",
        "https://x.example:port/v1?key=secret",
        "https://me:a#secret@x.example/v1",
        "https://me:secret/2@x.example/v1",
        "//me:secret@x.example",
        "ftp://me:secret@x.example/?key=secret",
        "https://me:a?b@secret@x.example/v1",
        "https://x.example:port/?key=me@secret",
        "https://x.example:port/#@secret",
        "socks5://me:secret@",
        "me:secret@x.example:port/v1",
        "/login?key=secret",
    ],
)
def test_a_url_is_shown_without_secrets_and_never_replaced_by_a_sentence(pasted: str) -> None:
    assert "secret" not in show_url(pasted)
    assert " " not in show_url(pasted)
    with pytest.raises(BadValueError) as caught:
        endpoint_for(pasted, None, EndpointList({}, []))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("pasted", ["http://[::1?key=secret", "https://x.example:port/v1?key=secret"])
def test_an_invalid_base_url_is_named_without_its_secrets(pasted: str) -> None:
    with pytest.raises(EndpointError) as caught:
        normalise(pasted)
    assert caught.value.message == pasted.partition("?")[0]
