"""The client's smaller services, and the connections it makes."""

from __future__ import annotations

import asyncio
import json
import pkgutil
import re
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path
from types import ModuleType

import pytest

import workbench.client
import workbench.storage
from tests.client.loopback import DONE, JSON, Handler, Received, answering, chunked, event, head, serving
from workbench.client.client import Client
from workbench.client.events import Delta, DoneReceived, End, Error, RequestSent, UsageReceived
from workbench.client.proxies import is_exempt
from workbench.client.wire_log import WireLog
from workbench.domain.endpoint import CommandKey, Endpoint, EnvironmentKey
from workbench.domain.errors import EndpointError
from workbench.domain.prompt import TextPrompt
from workbench.domain.request import Request
from workbench.domain.run import Usage

REQUEST = Request(TextPrompt("Hi"))


async def models(handler: Handler) -> list[str]:
    client = Client({})
    async with serving(handler) as server:
        found = await client.models(server.endpoint())
        assert server.requests[0].path == "/v1/models"
        await client.aclose()
    return found


@pytest.mark.parametrize(
    "body",
    [
        b'{"object":"list","data":[{"id":"a/b"},{"id":"c"},{"id":"c"}]}',
        b'[{"id":"a/b"},{"id":"c"}]',
        b'{"models":[{"name":"x","model":"a/b"},{"name":"c"}],"data":null}',
        b'{"models":["a/b","c"]}',
    ],
)
async def test_models_are_listed_in_every_shape(body: bytes) -> None:
    assert await models(answering(body, content_type=JSON)) == ["a/b", "c"]


@pytest.mark.parametrize("body", [b'{"ok":true}', b"3", b"<html>no</html>"])
async def test_what_is_no_list_of_models_is_an_error(body: bytes) -> None:
    with pytest.raises(EndpointError):
        await models(answering(body, content_type=JSON))


async def test_a_refused_list_is_an_error_in_the_providers_words() -> None:
    with pytest.raises(EndpointError, match="no such route"):
        await models(answering(b'{"detail":"no such route"}', 404, JSON))


async def test_tokens_are_read_with_pieces_of_either_kind() -> None:
    client = Client({})
    body = b'{"tokens":[{"id":1,"piece":"He"},{"id":2,"piece":[226,128]},{"id":3,"piece":[65]}]}'
    async with serving(answering(body, content_type=JSON)) as server:
        found = await client.tokenize(server.endpoint(), "x")
        assert server.requests[0].path == "/tokenize"
        assert server.requests[0].json == {"content": "x", "with_pieces": True}
        await client.aclose()
    assert found == [(1, b"He"), (2, b"\xe2\x80"), (3, b"A")]


async def test_ids_are_turned_into_text() -> None:
    client = Client({})
    async with serving(answering(b'{"content":"He"}', content_type=JSON)) as server:
        assert await client.detokenize(server.endpoint(), [1]) == "He"
        assert server.requests[0].json == {"tokens": [1]}
        await client.aclose()


@pytest.mark.parametrize(("named", "sent"), [("", "of-the-profile"), ("of-the-draft", "of-the-draft")])
async def test_a_request_without_a_model_names_the_endpoints(named: str, sent: str) -> None:
    client = Client({})
    async with serving(answering(DONE)) as server:
        endpoint = server.endpoint()._replace(model="of-the-profile")
        async for _ in client.stream(endpoint, REQUEST._replace(model=named)):
            pass
        await client.aclose()
    assert server.requests[0].json["model"] == sent


async def test_chunks_that_arrive_together_reach_the_parser_as_one() -> None:
    client = Client({})
    pieces = [event(str(number)) for number in range(100)] + [event("", finish_reason="stop"), DONE]
    async with serving(chunked(pieces)) as server:
        wire = WireLog()
        events = [received async for received in client.stream(server.endpoint(), REQUEST, wire=wire)]
        await client.aclose()
    assert wire.answer == b"".join(pieces)
    assert wire.count < 20
    assert sum(isinstance(received, Delta) for received in events) == 100
    assert DoneReceived() in events
    assert events[-1] == End()


async def test_a_connection_serves_again() -> None:
    client = Client({})
    body = event("a", finish_reason="stop") + DONE
    handler = answering(body)
    async with serving(handler) as server:
        for _ in range(3):
            events = [received async for received in client.stream(server.endpoint(), REQUEST)]
            assert DoneReceived() in events
            assert events[-1] == End()
        await client.aclose()


async def test_usage_behind_the_mark_of_the_end_counts_though_the_connection_stays_open() -> None:
    usage = b'data: {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}\n\n'

    is_marked = asyncio.Event()

    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head() + event("a", finish_reason="stop") + DONE)
        await writer.drain()
        await is_marked.wait()
        writer.write(usage)
        await writer.drain()
        await received.gone.wait()

    async with serving(handle) as server, aclosing(Client({})) as client:
        events = []
        async for arrived in client.stream(server.endpoint(), REQUEST):
            events.append(arrived)
            if arrived == DoneReceived():
                is_marked.set()
    assert UsageReceived(Usage(3, 1, 0)) in events
    assert events[-1] == End()


async def failure_of(endpoint: Endpoint, environment: dict[str, str] | None = None) -> EndpointError:
    client = Client(environment or {})
    events = [received async for received in client.stream(endpoint, REQUEST)]
    await client.aclose()
    assert isinstance(events[-1], End)
    (failed,) = (received for received in events if isinstance(received, Error))
    return failed.error


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({"base_url": "nonsense://x"}, "Invalid base URL"),
        ({"base_url": "http://xn--.example"}, "The request cannot be sent"),
        ({"proxy": "socks5://127.0.0.1:1"}, "The proxy needs SOCKS support, which is not installed"),
        ({"proxy": "nonsense"}, "Invalid proxy address"),
        (
            {"base_url": "https://x.invalid", "ca_file": "/no/such/file"},
            "A TLS file of the endpoint cannot be used",
        ),
        (
            {"base_url": "https://x.invalid", "ca_file": "a\0b"},
            "A TLS file of the endpoint cannot be used",
        ),
        ({"key": CommandKey(("a\0b",))}, "The command that prints the API key cannot be started"),
        (
            {"base_url": "https://x.invalid", "client_certificate": "/no/such"},
            "A TLS file of the endpoint cannot be used",
        ),
        ({"headers": {"X-Ключ": "1"}}, "The request cannot be sent"),
        ({"proxy": "http://127.0.0.1:9"}, "The endpoint cannot be reached"),
    ],
)
async def test_what_a_profile_has_wrong_is_said(fields: dict[str, object], title: str) -> None:
    endpoint = Endpoint(**{"name": "x", "base_url": "http://127.0.0.1:9/v1", "retries": 0, **fields})  # type: ignore[arg-type]
    found = await failure_of(endpoint)
    assert found.title == title
    assert found.hint


async def test_a_proxy_of_the_environment_is_used_only_where_the_profile_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(answering(event("a", finish_reason="stop") + DONE)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        client = Client({})
        there = Endpoint("x", "http://endpoint.invalid/v1", retries=0, trust_environment=True)
        events = [received async for received in client.stream(there, REQUEST)]
        await client.aclose()
        assert DoneReceived() in events
        assert events[-1] == End()
        assert proxy.requests[0].path == "http://endpoint.invalid/v1/completions"
        found = await failure_of(Endpoint("x", "http://endpoint.invalid/v1", retries=0))
        assert found.title == "The endpoint cannot be reached"
        assert len(proxy.requests) == 1


@pytest.mark.parametrize(
    ("variables", "parts"),
    [
        ({"ALL_PROXY": "socks://127.0.0.1:7891"}, ("ALL_PROXY", "socks5://127.0.0.1:7891")),
        ({"http_proxy": "gopher://127.0.0.1:1"}, ("http_proxy", "gopher://127.0.0.1:1")),
        ({"HTTP_PROXY": "http://me:s3cret@host:lpd"}, ("HTTP_PROXY",)),
        ({"HTTP_PROXY": "http://me\udcff:s3cret@host"}, ("HTTP_PROXY",)),
        ({"ALL_PROXY": "socks5://127.0.0.1:1"}, ("ALL_PROXY", "SOCKS")),
    ],
)
async def test_a_proxy_of_the_environment_that_cannot_be_used_is_named(
    variables: dict[str, str], parts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = await failure_of(Endpoint("x", "http://endpoint.invalid/v1", retries=0, trust_environment=True))
    assert all(word in str(found) for word in parts)
    assert "s3cret" not in str(found)


@pytest.mark.parametrize(
    "exempt",
    ["127.0.0.1,printer:lpd", "127.0.0.1,[fd12::7]", "127.0.0.1,2001:db8:1::/48", "x:y:z, 127.0.0.0/8"],
)
async def test_odd_entries_of_no_proxy_are_passed_over(exempt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", exempt)
    client = Client({})
    async with serving(answering(event("a", finish_reason="stop") + DONE)) as server:
        there = server.endpoint(trust_environment=True)
        events = [received async for received in client.stream(there, REQUEST)]
        await client.aclose()
    assert DoneReceived() in events


@pytest.mark.parametrize(
    ("exempt", "host", "right"),
    [
        ("example.com", "example.com", True),
        ("example.com", "api.example.com", True),
        (".example.com", "api.example.com", True),
        ("*.example.com", "api.EXAMPLE.com", True),
        ("example.com", "badexample.com", False),
        ("example.com:80", "example.com", True),
        ("example.com:81", "example.com", False),
        ("*", "anything", True),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("[fd12::7]", "fd12::7", True),
        ("[fd12::7]:80", "fd12::7", True),
        ("2001:db8:1::/48", "2001:db8:1::5", True),
        ("0.1", "127.0.0.1", False),
        ("http://example.com", "example.com", True),
        (" , ,a b", "b", True),
        ("", "b", False),
        ("[", "b", False),
    ],
)
def test_no_proxy_exempts_hosts_domains_addresses_and_networks(exempt: str, host: str, right: bool) -> None:
    assert is_exempt(exempt, host, 80) is right


@pytest.mark.parametrize(
    ("fields", "variables", "named"),
    [
        ({"ca_file": "/no/such.pem"}, {}, "ca_file"),
        ({"client_certificate": "/no/such.pem"}, {}, "client_certificate"),
        ({"client_certificate": __file__, "client_key": "/no/such.pem"}, {}, "client_key"),
        ({"trust_environment": True}, {"SSL_CERT_FILE": "/no/such.pem"}, "SSL_CERT_FILE"),
        ({"trust_environment": True}, {"SSL_CERT_DIR": "/no/such.pem"}, "SSL_CERT_DIR"),
    ],
)
async def test_a_tls_file_that_cannot_be_read_is_named_with_what_names_it(
    fields: dict[str, object], variables: dict[str, str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    endpoint = Endpoint(**{"name": "x", "base_url": "https://x.invalid", "retries": 0, **fields})  # type: ignore[arg-type]
    found = await failure_of(endpoint)
    assert found.title == "A TLS file of the endpoint cannot be used"
    assert found.message.startswith(f"{named}: /no/such.pem: ")
    assert named in found.hint


@pytest.mark.parametrize("field", ["ca_file", "client_certificate"])
async def test_a_tls_file_that_holds_something_else_is_named(field: str) -> None:
    found = await failure_of(Endpoint(**{"name": "x", "base_url": "https://x.invalid", field: __file__}))  # type: ignore[arg-type]
    assert found.message.startswith(f"{field}: {__file__}: ")


async def test_passwords_in_a_base_url_are_shown_nowhere() -> None:
    client = Client({})
    async with serving(answering(b"", 404)) as server:
        endpoint = server.endpoint(base_url=f"http://me:s3cret@127.0.0.1:{server.port}")
        events = [received async for received in client.stream(endpoint, REQUEST)]
        await client.aclose()
    assert isinstance(events[0], RequestSent)
    assert "s3cret" not in repr(events)


async def test_a_key_is_in_no_traceback_and_no_representation() -> None:
    client = Client({"K": "sk_hidden"})
    endpoint = Endpoint("x", "http://127.0.0.1:9/v1", key=EnvironmentKey("K"), retries=0)
    events = [received async for received in client.stream(endpoint, REQUEST)]
    await client.aclose()
    assert "sk_hidden" not in repr(events)
    assert "sk_hidden" not in repr(client)


def test_the_http_library_is_imported_in_one_module_and_not_before_a_request() -> None:
    package = Path(__file__).resolve().parents[2] / "workbench"
    users = [path.name for path in package.rglob("*.py") if "import httpx" in path.read_text("utf-8")]
    assert users == ["transport.py"]
    script = "import sys, workbench.runner.execution; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


async def test_a_server_that_closes_connections_it_promised_to_keep_loses_no_request() -> None:
    body = event("x", finish_reason="stop") + DONE

    async def closing(_: Received, writer: asyncio.StreamWriter) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nKeep-KeepAlive: timeout=5\r\n"
        writer.write(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        # As llama.cpp's server does: the connection's end comes just behind the answer.
        await asyncio.sleep(0.002)

    client = Client({})
    async with serving(closing) as server:
        for _ in range(10):
            events = [received async for received in client.stream(server.endpoint(), REQUEST)]
            assert not [received for received in events if isinstance(received, Error)]
    await client.aclose()


@pytest.mark.parametrize(("package", "least"), [(workbench.client, 11), (workbench.storage, 9)])
def test_every_hop_of_a_token_and_of_a_run_is_named_as_it_is(package: ModuleType, least: int) -> None:
    hops = re.findall(r"`([a-z_]+(?:\.\w+)+)`", package.__doc__ or "")
    assert len(hops) >= least
    for hop in hops:
        inner = "" if hop.split(".")[0] in ("domain", "runner", "storage", "workspace") else package.__name__
        assert pkgutil.resolve_name(f"{inner or 'workbench'}.{hop}")


async def test_tokens_with_ids_that_are_none_are_left_out() -> None:
    tokens = [{"id": 1, "piece": "a"}, {"id": -1, "piece": "b"}, {"id": 2**63, "piece": "c"}]
    body = json.dumps({"tokens": tokens}).encode()
    async with serving(answering(body, 200, JSON)) as server, aclosing(Client({})) as client:
        assert await client.tokenize(server.endpoint(), "abc") == [(1, b"a")]
