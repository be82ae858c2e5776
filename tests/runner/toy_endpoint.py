"""A loopback endpoint with a toy model, which honours, ignores or refuses each field as it is told."""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

WORDS = re.findall(r" \w+", " salt wind gulls rope tide sand shell foam boat pier kelp crab")


@dataclass
class Toy:
    """What the endpoint does; everything is honoured but for what is named here."""

    ignored: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    raw_logprobs: bool = True
    keeps_stop: bool = True
    status: int = 200
    bodies: list[dict[str, Any]] = field(default_factory=list)
    """The bodies that came."""

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        """Answer on loopback; gives the base URL."""
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        async with server:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.split("content-length:")[1].split("\r\n")[0])
        body = json.loads(await reader.readexactly(length))
        self.bodies.append(body)
        status, kind, text = self._reply(body)
        writer.write(
            f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n{text}".encode()
        )
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    def _reply(self, body: dict[str, Any]) -> tuple[int, str, str]:
        refused = [name for name in body if name in self.refused]
        if isinstance(body["prompt"], list) and "arrays" in self.refused:
            refused.append("prompt")
        if self.status != 200 or refused:
            message = f"{refused[0]} is not supported" if refused else "no"
            return (
                400 if refused else self.status,
                "application/json",
                json.dumps({"error": {"message": message}}),
            )
        requested = {name: value for name, value in body.items() if name not in self.ignored}
        prompts = requested["prompt"] if isinstance(requested["prompt"], list) else [requested["prompt"]]
        if isinstance(prompts[0], int):
            prompts = [prompts]
        n = requested.get("n", 1)
        choices = [self._choice(requested, str(prompt), i) for prompt in prompts for i in range(n)]
        for index, choice in enumerate(choices):
            choice["index"] = index
        tokens = sum(len(choice["logprobs"]["tokens"]) for choice in choices) * requested.get("best_of", 1)
        usage = {"prompt_tokens": 1, "completion_tokens": tokens, "total_tokens": tokens + 1}
        for choice in choices:
            if requested.get("logprobs") is None:
                choice["logprobs"] = None
        whole = {"id": "x", "object": "text_completion", "created": 1, "model": "toy", "choices": choices}
        if not requested.get("stream"):
            return 200, "application/json", json.dumps({**whole, "usage": usage})
        chunks = [whole]
        if requested.get("stream_options", {}).get("include_usage"):
            chunks.append({**whole, "choices": [], "usage": usage})
        events = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
        return 200, "text/event-stream", f"{events}data: [DONE]\n\n"

    def _choice(self, requested: dict[str, Any], prompt: str, number: int) -> dict[str, Any]:
        hot = requested.get("temperature", 1) > 0
        if requested.get("top_k") == 1 or requested.get("min_p") == 1 or requested.get("top_p", 1) < 0.01:
            hot = False
        seed = requested.get("seed")
        chance = random.Random(f"{seed} {number}" if seed is not None else None)
        words = [chance.choice(WORDS) if hot else WORDS[i] for i in range(requested["max_tokens"])]
        if "la la" in prompt and not hot:
            penalised = any(
                name in requested for name in ("frequency_penalty", "presence_penalty", "repetition_penalty")
            )
            words = WORDS[2:8] if penalised else [" la"] * 6
        if requested.get("logit_bias"):
            words[0] = " forced"
        words, reason = self._stopped(words, requested.get("stop"))
        if requested.get("echo"):
            words = [prompt, *words]
        k = min(requested.get("logprobs") or 0, 20)
        scale = 1 if self.raw_logprobs else 1 / max(requested.get("temperature", 1), 0.1)
        top = [{word: -scale * (i + 1) for i, word in enumerate(WORDS * 2)} for _ in words]
        rows = [dict(list({**row, **{f" w{i}": -9.0 for i in range(12)}}.items())[:k]) for row in top]
        logprobs = {
            "tokens": words,
            "token_logprobs": [-scale for _ in words],
            "top_logprobs": rows,
            "text_offset": [sum(map(len, words[:i])) for i in range(len(words))],
        }
        assert math.isfinite(scale)
        return {"text": "".join(words), "finish_reason": reason, "logprobs": logprobs}

    def _stopped(self, words: list[str], stop: list[str] | None) -> tuple[list[str], str]:
        for index, word in enumerate(words):
            if stop and stop[0] in word:
                return words[: index + (1 if self.keeps_stop else 0)], "stop"
        return words, "length"
