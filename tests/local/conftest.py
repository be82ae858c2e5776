"""The local server as a process of its own, shared by the tests that need the real model."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

KEY_NAME = "TEST_LOCAL_KEY"
KEY = "a-key-for-tests"
MODEL = "smollm2-135m-instruct"


def start(*arguments: str) -> subprocess.Popen[str]:
    """Start the server with a key, its streams as pipes."""
    return subprocess.Popen(
        [sys.executable, "-m", "workbench.local", "--api-key-env", KEY_NAME, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, KEY_NAME: KEY},
    )


@dataclass(frozen=True)
class Server:
    """A running server."""

    process: subprocess.Popen[str]
    url: str

    @property
    def port(self) -> int:
        port = urlsplit(self.url).port
        assert port is not None
        return port

    @contextmanager
    def opened(
        self, path: str, body: Mapping[str, Any] | None = None, key: str = KEY
    ) -> Iterator[http.client.HTTPResponse]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        try:
            content = None if body is None else json.dumps(body)
            connection.request("GET" if body is None else "POST", path, content, headers)
            with connection.getresponse() as answer:
                yield answer
        finally:
            connection.close()

    def send(self, path: str, body: Mapping[str, Any] | None = None, key: str = KEY) -> tuple[int, bytes]:
        with self.opened(path, body, key) as answer:
            return answer.status, answer.read()

    def call(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        status, content = self.send(path, body)
        assert status == 200, content
        return json.loads(content)

    def complete(self, **fields: Any) -> Any:
        return self.call(
            "/v1/completions",
            {"model": MODEL, "prompt": "The capital of France is", "max_tokens": 8, **fields},
        )

    def stream(self, **fields: Any) -> list[dict[str, Any]]:
        body = {
            "model": MODEL,
            "prompt": "The capital of France is",
            "max_tokens": 8,
            "stream": True,
            **fields,
        }
        parts = self.send("/v1/completions", body)[1].decode().split("\n\n")
        assert parts[-2:] == ["data: [DONE]", ""]
        return [json.loads(part.removeprefix("data: ")) for part in parts[:-2]]


def serve(arguments: Sequence[str] = ()) -> Server:
    """Start a server and wait until it answers."""
    process = start(*arguments)
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        _, words = process.communicate()
        raise AssertionError(words)
    return Server(process, json.loads(line)["url"])


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The embedded model, served."""
    running = serve()
    yield running
    end(running.process)
