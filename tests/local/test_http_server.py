"""The local server's HTTP: who is served, what a request may look like, and clients that stall."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import socket
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.local.calls import DEADLINE, Answer, Call, complete, get, post, serving, until
from tests.local.fakes import FACTS, FakeEngine, chunk, tokens
from workbench.domain.json_values import JsonValue
from workbench.local.completion import in_thread
from workbench.local.engine import Generation
from workbench.local.http_server import MOST_BODY, ClientLimits

COMPLETION = json.dumps({"model": "fake", "prompt": "x"}).encode()


async def exchange(port: int, sent: bytes) -> bytes:
    """Everything that comes back for some bytes, until the server closes."""
    async with asyncio.timeout(DEADLINE):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        answer = await reader.read()
        writer.close()
        return answer


def error_of(answer: bytes) -> dict[str, Any]:
    """The error in an answer's body."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"application/json" in head
    error = json.loads(body)["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return dict(error)


@pytest.mark.parametrize("path", ["/v1/models", "/props", "/health", "/tokenizer_info", "/nowhere"])
@pytest.mark.parametrize(
    "host",
    [
        "intruder.example",
        "intruder.example:80",
        "127.0.0.1.intruder.example",
        "[::2]",
        "10.0.0.1",
        "0.0.0.0",
        "",
    ],
)
async def test_without_a_key_a_foreign_host_is_told_nothing(path: str, host: str) -> None:
    async with serving(FakeEngine()) as port:
        answer = await get(port, path, host=host, origin="http://intruder.example")
    assert answer.status == 403
    assert b"fake" not in answer.content
    assert host.encode() not in answer.content or not host
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8080", "localhost", "LocalHost:1", "[::1]", "[::1]:80"]
)
async def test_without_a_key_this_machine_is_served_by_any_of_its_names(host: str) -> None:
    async with serving(FakeEngine()) as port:
        assert (await get(port, "/v1/models", host=host)).status == 200
        assert (await post(port, "/v1/completions", COMPLETION, host=host)).status == 200


async def test_with_a_key_any_host_is_served() -> None:
    async with serving(FakeEngine(), key="secret") as port:
        answer = await get(port, "/v1/models", host="workbench.example", authorization="Bearer secret")
    assert answer.status == 200


async def test_an_address_in_the_request_line_is_the_host_that_counts() -> None:
    async with serving(FakeEngine()) as port:
        foreign = await exchange(
            port, b"GET http://intruder.example/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        own = await exchange(
            port, b"GET HTTP://localhost/v1/models HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        )
    assert foreign.split()[1] == b"403"
    assert own.split()[1] == b"200"


@pytest.mark.parametrize("key", [None, "secret"])
async def test_pages_may_read_answers_only_where_their_origin_is_allowed(key: str | None) -> None:
    ask = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
    bearer = {} if key is None else {"authorization": f"Bearer {key}"}
    async with serving(FakeEngine(), key=key, origins={"http://localhost:3000"}) as port:
        for origin, allowed in (("http://localhost:3000", True), ("http://localhost:3001", False)):
            preflight = await Call(port, "OPTIONS", "/v1/completions", b"", {"origin": origin, **ask}).run()
            plain = await get(port, "/v1/models", origin=origin, **bearer)
            refused = await post(port, "/v1/completions", b"{}", origin=origin, **bearer)
            streamed = await post(
                port,
                "/v1/completions",
                b'{"model": "fake", "prompt": "x", "stream": true}',
                origin=origin,
                **bearer,
            )
            assert (preflight.status == 204) is allowed
            assert [plain.status, refused.status, streamed.status] == [200, 400, 200]
            for answer in (preflight, plain, refused, streamed):
                assert answer.headers.get("access-control-allow-origin") == (origin if allowed else None)
                assert answer.headers["vary"] == "Origin"
            if allowed:
                assert "authorization" in preflight.headers["access-control-allow-headers"].lower()


async def test_without_allowed_origins_no_page_is_let_in() -> None:
    async with serving(FakeEngine()) as port:
        answer = await Call(
            port,
            "OPTIONS",
            "/v1/completions",
            b"",
            {"origin": "http://a.example", "access-control-request-method": "POST"},
        ).run()
        plain = await get(port, "/v1/models", origin="http://a.example")
    assert answer.status == 405
    for received in (answer, plain):
        assert not any(name.startswith("access-control") for name in received.headers)


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER  "])
async def test_the_word_bearer_is_read_in_any_case(scheme: str) -> None:
    async with serving(FakeEngine(), key="s€cret") as port:
        given = f"{scheme}s€cret".encode().decode("latin-1")
        assert (await get(port, "/v1/models", authorization=given)).status == 200
        assert (await get(port, "/v1/models", authorization="Basic secret")).status == 401


@pytest.mark.parametrize(
    "path",
    [
        "/v1/completions",
        "/v1/completions/",
        "//v1/completions",
        "/v1//completions//",
        "/completions",
        "/completions/",
        "/v1/completions?x=1",
    ],
)
async def test_a_base_url_may_be_written_in_every_form(path: str) -> None:
    async with serving(FakeEngine()) as port:
        answer = await post(port, path, COMPLETION)
        assert (await get(port, path.replace("completions", "models"))).status == 200
    assert answer.status == 200
    assert "location" not in answer.headers


async def test_a_model_is_found_by_its_name() -> None:
    async with serving(FakeEngine()) as port:
        listed: Any = (await get(port, "/v1/models")).json["data"]
        for path in ("/v1/models/fake", "/models/fake/", "//v1/models/f%61ke"):
            assert (await get(port, path)).json == listed[0]
        other = await get(port, "/v1/models/another%2Fmodel")
        method = await post(port, "/v1/models/fake", b"{}")
    assert other.status == 404
    assert "another/model" in str(other.json["error"])
    assert other.json["error"]["code"] == "MODEL_NOT_FOUND"  # type: ignore[index, call-overload]
    assert method.status == 405


async def test_the_head_of_an_answer_can_be_asked_for_alone() -> None:
    async with serving(FakeEngine()) as port:
        head = await exchange(
            port, b"HEAD /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        lost = await exchange(port, b"HEAD /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert lost.startswith(b"HTTP/1.1 404")
    for answer in (head, lost):
        assert answer.endswith(b"\r\n\r\n")
        assert b"content-length: " in answer.lower()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET /v1/models HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET /v1/models HTTP/1.1\r\nHost: a\r\nX-\x01: b\r\n\r\n", 400),
        (b"GET /" + b"x" * 100_000, 431),
        (b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 400),
        (
            b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
            + b"9" * 5000
            + b"\r\n\r\n",
            400,
        ),
        (b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: br\r\n\r\n", 501),
        (
            b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
            400,
        ),
    ],
)
async def test_what_is_not_http_is_refused_in_the_contracts_shape(sent: bytes, status: int) -> None:
    async with serving(FakeEngine()) as port:
        answer = await exchange(port, sent)
    assert int(answer.split()[1]) == status
    assert error_of(answer)["type"] == "invalid_request_error"


async def test_a_body_too_long_is_refused_before_it_is_sent() -> None:
    """A client that waits for `100 Continue` is answered at once, and so is one that does not."""
    head = (
        b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 50000000\r\n"
    )
    async with serving(FakeEngine()) as port, asyncio.timeout(DEADLINE):
        for more in (b"Expect: 100-continue\r\n\r\n", b"\r\n"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head + more)
            answer = await reader.read()
            writer.close()
            assert answer.split()[1] == b"413"
            assert error_of(answer)["code"] == "REQUEST_TOO_LARGE"


async def test_a_client_that_waits_before_its_body_is_told_to_go_on() -> None:
    async with serving(FakeEngine()) as port, asyncio.timeout(DEADLINE):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Connection: close\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(COMPLETION)
        )
        assert (await reader.readuntil(b"\r\n\r\n")).split()[1] == b"100"
        writer.write(COMPLETION)
        assert (await reader.read()).split()[1] == b"200"
        writer.close()


@pytest.mark.parametrize(("key", "status"), [(None, b"413"), ("secret", b"401")])
@pytest.mark.parametrize("framing", ["content-length: {size}", "transfer-encoding: chunked"])
async def test_a_refusal_is_read_by_a_client_that_sends_everything_first(
    key: str | None, status: bytes, framing: str
) -> None:
    size = 2 * MOST_BODY
    part = b" " * 65536
    async with serving(FakeEngine(), key=key) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        lines = ("POST /v1/completions HTTP/1.1", "Host: localhost", "Content-Type: application/json")
        writer.write("\r\n".join((*lines, framing.format(size=size), "", "")).encode())
        for _ in range(size // len(part)):
            writer.write(b"10000\r\n" + part + b"\r\n" if "chunked" in framing else part)
            await writer.drain()
        answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
        writer.close()
    assert answer.split()[1] == status


async def test_a_gzip_body_is_unpacked() -> None:
    packed = gzip.compress(COMPLETION[:10]) + gzip.compress(COMPLETION[10:])
    async with serving(FakeEngine()) as port:
        for encoding in ("gzip", "GZIP", "x-gzip"):
            answer = await post(port, "/v1/completions", packed, **{"content-encoding": encoding})
            assert answer.status == 200


@pytest.mark.parametrize(
    ("content", "encoding", "status"),
    [
        (gzip.compress(b" " * (MOST_BODY + 1)), "gzip", 413),
        (gzip.compress(b" " * 100 * MOST_BODY), "gzip", 413),
        (gzip.compress(COMPLETION)[:-5], "gzip", 400),
        (COMPLETION, "gzip", 400),
        (gzip.compress(COMPLETION) + b"x", "gzip", 400),
        (COMPLETION, "br", 415),
        (COMPLETION, "gzip, gzip", 415),
        (COMPLETION, "identity", 200),
    ],
    ids=["long", "bomb", "cut", "plain", "more", "br", "twice", "none"],
)
async def test_other_encodings_and_broken_ones_are_refused_by_name(
    content: bytes, encoding: str, status: int
) -> None:
    async with serving(FakeEngine()) as port:
        answer = await post(port, "/v1/completions", content, **{"content-encoding": encoding})
    assert answer.status == status
    if status == 415:
        assert encoding in str(answer.json["error"])
        assert answer.headers["accept-encoding"] == "gzip"


async def test_a_connection_carries_one_request_after_the_other() -> None:
    get_models = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"
    lost = b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n"
    refused = b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"
    last = get_models.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    async with serving(FakeEngine()) as port:
        answer = await exchange(port, get_models + lost + refused + get_models + last)
    assert [part.split()[0] for part in answer.split(b"HTTP/1.1 ")[1:]] == [
        b"200",
        b"404",
        b"404",
        b"200",
        b"200",
    ]


async def test_an_old_client_gets_a_stream_that_ends_with_the_connection() -> None:
    body = b'{"model": "fake", "prompt": "x", "stream": true}'
    async with serving(FakeEngine()) as port:
        answer = await exchange(
            port,
            b"POST /v1/completions HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (len(body), body),
        )
    head, _, events = answer.partition(b"\r\n\r\n")
    assert b"chunked" not in head.lower()
    assert events.startswith(b"data: {")
    assert events.endswith(b"\n\ndata: [DONE]\n\n")


class Flood(FakeEngine):
    """Generates long tokens without end, until it is stopped."""

    def _generate(self, generation: Generation) -> None:
        token = chunk("x" * 50_000)
        while not generation.is_cancelled:
            generation.on_chunk(0, token)
            threading.Event().wait(0.001)
        self.running -= 1


async def test_a_client_that_stops_reading_loses_its_place() -> None:
    engine = Flood()
    body = b'{"model": "fake", "prompt": "x", "stream": true}'
    async with serving(engine, slots=1, queue=0, limits=ClientLimits(write_seconds=0.1)) as port:
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(
                b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
            )
            await until(lambda: engine.running == 1)
            assert (await complete(port)).status == 429
            await until(lambda: engine.running == 0)


async def test_a_client_that_never_ends_its_request_is_let_go() -> None:
    async with serving(FakeEngine(), limits=ClientLimits(read_seconds=0.1)) as port:
        for begun in (b"", b"GET /v1/mod", b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"):
            assert await exchange(port, begun) == b""


async def test_connections_that_wait_for_their_clients_make_room_for_others() -> None:
    """The oldest are closed; one whose answer is being generated is not."""
    engine = FakeEngine()
    engine.gate.clear()
    async with serving(engine, limits=ClientLimits(connections=3)) as port, asyncio.timeout(DEADLINE):
        running = asyncio.create_task(complete(port))
        await until(lambda: engine.running == 1)
        unfinished = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        clients = []
        for sent in (unfinished + b"Content-Length: 9\r\n\r\n{", b"GET", b"", b""):
            clients.append(await asyncio.open_connection("127.0.0.1", port))
            clients[-1][1].write(sent)
        for reader, _ in clients[:2]:
            assert await reader.read() == b""
        engine.gate.set()
        assert (await running).status == 200
        for _, writer in clients:
            writer.close()


class SlowTokenizer(FakeEngine):
    """Tokenises each text only when it is let through."""

    def __post_init__(self) -> None:
        FakeEngine.__post_init__(self)
        self.tokenised: list[str] = []
        self.may_go_on = threading.Semaphore(0)

    def tokenize(self, text: str, add_special: bool = True, parse_special: bool = True) -> list[int]:
        self.tokenised.append(text)
        self.may_go_on.acquire(timeout=DEADLINE)
        return [1]


async def test_a_client_that_leaves_keeps_its_place_until_its_prompt_is_tokenised() -> None:
    engine = SlowTokenizer()
    content = json.dumps({"model": "fake", "prompt": ["a"] * 100}).encode()
    async with serving(engine, slots=1, queue=0) as port:
        call = Call(port, "POST", "/v1/completions", content)
        running = asyncio.create_task(call.run())
        await until(lambda: len(engine.tokenised) == 1)
        call.hang_up()
        await asyncio.gather(running, return_exceptions=True)
        assert (await complete(port)).status == 429
        engine.may_go_on.release()

        async def is_free() -> bool:
            return (await complete(port, prompt=[1])).status == 200

        async with asyncio.timeout(DEADLINE):
            while not await is_free():
                pass
    assert engine.tokenised == ["a"]
    assert engine.generations[0].prompts == [[1]]


@pytest.mark.parametrize("prompts", [[""] * 1_000_000, ["x"] * 20_000, [[1]] * 20_000])
async def test_too_many_prompts_are_refused_before_one_is_tokenised(prompts: list[JsonValue]) -> None:
    engine = SlowTokenizer()
    async with serving(engine) as port:
        answers = await asyncio.gather(*(complete(port, prompt=prompts) for _ in range(4)))
    for answer in answers:
        assert (answer.status, answer.json["error"]["param"]) == (400, "prompt")  # type: ignore[index, call-overload]
    assert engine.tokenised == []


async def test_the_tokenizer_answers_in_vllms_shapes() -> None:
    async with serving(FakeEngine()) as port:
        info = await get(port, "/tokenizer_info")
        plain = await post(port, "/tokenize", b'{"prompt": "ab"}')
        bare = await post(port, "/v1/tokenize", b'{"model": "x", "prompt": "", "add_special_tokens": false}')
        back = await post(port, "/detokenize", b'{"model": "x", "tokens": [5, 6]}')
        both = await post(port, "/tokenize", b'{"prompt": "ab", "content": "ab"}')
        null = await post(port, "/tokenize", b'{"prompt": null, "content": "ab", "add_special": null}')
        wrong = await post(port, "/tokenize", b'{"prompt": "ab", "add_special_tokens": 1}')
    assert info.json == {
        "bos_token": FACTS.bos_token,
        "eos_token": FACTS.eos_token,
        "chat_template": FACTS.chat_template,
    }
    assert plain.json == {"tokens": [97, 98], "count": 2, "max_model_len": FACTS.context}
    assert bare.json == {"tokens": [], "count": 0, "max_model_len": FACTS.context}
    assert back.json["prompt"] == "\x05\x06"
    assert both.status == 400
    assert null.json == {"tokens": [97, 98]}
    assert (wrong.status, wrong.json["error"]["param"]) == (400, "add_special_tokens")  # type: ignore[index, call-overload]


async def test_a_request_that_fails_leaves_no_text_of_a_client_in_the_log(
    capsys: pytest.CaptureFixture[str],
) -> None:
    class BrokenTokenizer(FakeEngine):
        def tokenize(self, text: str, add_special: bool = True, parse_special: bool = True) -> list[int]:
            raise ValueError(text)

    async with serving(BrokenTokenizer()) as port:
        answer = await complete(port, prompt="\x1b]0;private\x07")
    logged = capsys.readouterr().err
    assert answer.status == 500
    assert b"private" not in answer.content
    assert "ValueError" in logged
    assert "private" not in logged
    assert logged.rstrip("\n").isprintable()


async def test_work_that_fails_after_its_client_left_is_not_logged() -> None:
    """asyncio would log the error with its message, which may quote the request."""
    logged: list[Mapping[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: logged.append(context))
    begun, may_fail = threading.Event(), threading.Event()

    def fail() -> None:
        begun.set()
        may_fail.wait(DEADLINE)
        raise ValueError("private")

    task = asyncio.create_task(in_thread(fail))
    await until(begun.is_set)
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    may_fail.set()
    await asyncio.wait({task})
    del task
    gc.collect()
    assert logged == []


@given(st.lists(st.binary(max_size=40), max_size=6))
@settings(max_examples=30, deadline=None)
def test_no_bytes_whatever_end_the_server(parts: Sequence[bytes]) -> None:
    async def check() -> Answer:
        async with serving(FakeEngine([tokens(["a"])]), limits=ClientLimits(read_seconds=0.05)) as port:
            await exchange(
                port, b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n" + b"\r\n".join(parts)
            )
            await exchange(port, b"".join(parts))
            return await complete(port)

    assert asyncio.run(check()).status == 200
