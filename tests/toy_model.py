"""A toy model behind a loopback server: every next word has a distribution of its own, and it echoes."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from math import exp, log
from random import Random
from threading import Event
from typing import Any

from tests.client.loopback import Handler, Received, answering

WORDS = (" salt", " wind", " gulls", " rope", " tide", " sand", " foam", " 猫", " boat", " pier")


@dataclass
class ToyModel:
    """Answers completions; what follows a text depends on nothing but the text and these settings."""

    shift: float = 0.0
    """How far its logits are from those of the model with none."""
    flickers: bool = False
    """Whether they are that far only at every second request with one prompt."""
    salt: str = ""
    """What else decides how it samples."""
    cut: str = r" ?[^\s]+|\s"
    """What a token of a prompt is."""
    refuses_echo: bool = False
    ignores_echo: bool = False
    fails: bool = False
    holds_after: int | None = None
    """How many requests are answered before the others wait for ever."""
    held: Event = field(default_factory=Event)
    """Set once a request waits for ever."""
    has_tokenizer: bool = False
    vocabulary: list[str] = field(default_factory=list)
    """The tokens that were tokenised; a token's id is its place."""
    served: Counter[str] = field(default_factory=Counter)
    """How often each prompt came."""

    def distribution(self, before: str, shift: float) -> dict[str, float]:
        """The logprobs of all words after a text."""
        own, other = Random(before), Random(f"{before} shifted")
        logits = [own.gauss(0, 2) + shift * other.gauss(0, 1) for _ in WORDS]
        total = log(sum(map(exp, logits)))
        return {word: logit - total for word, logit in zip(WORDS, logits, strict=True)}

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """The body of a whole answer."""
        prompt, k = self.text_of(body["prompt"]), body.get("logprobs")
        shift = 0.0 if self.flickers and self.served[str(prompt)] % 2 else self.shift
        tokens: list[tuple[str, float | None, dict[str, float] | None]] = []
        text = ""
        if body.get("echo") and not self.ignores_echo:
            for token in re.findall(self.cut, prompt):
                found = self.distribution(text, shift)
                logprob = found.get(token, -8.0 - len(token))
                tokens.append((token, logprob, {**self._top(found, k), token: logprob}))
                text += token
            tokens[:1] = [(tokens[0][0], None, None)]
        text = prompt
        for _ in range(body["max_tokens"]):
            found = self.distribution(text, shift)
            seeded = Random(f"{text} {body.get('seed')}{self.salt}")
            is_greedy = body.get("temperature") == 0
            token = max(
                found, key=lambda word: found[word] if is_greedy else log(seeded.random()) / exp(found[word])
            )
            tokens.append((token, found[token], {**self._top(found, k), token: found[token]}))
            text += token
        names, logprobs, tops = ([row[column] for row in tokens] for column in range(3))
        listed = {"tokens": names, "token_logprobs": logprobs, "top_logprobs": tops}
        return {
            "id": "toy",
            "model": "toy",
            "choices": [
                {
                    "index": 0,
                    "text": "".join(map(str, names)),
                    "finish_reason": "length",
                    "logprobs": listed if k is not None else None,
                }
            ],
        }

    def tokenize(self, text: str) -> list[dict[str, Any]]:
        """The tokens of a text with their ids, as llama.cpp's `/tokenize` lists them."""
        pieces = re.findall(self.cut, text)
        self.vocabulary += [piece for piece in dict.fromkeys(pieces) if piece not in self.vocabulary]
        return [{"id": self.vocabulary.index(piece), "piece": piece} for piece in pieces]

    def text_of(self, prompt: str | list[int]) -> str:
        """The text of a prompt, which may be token ids."""
        return prompt if isinstance(prompt, str) else "".join(self.vocabulary[id] for id in prompt)

    @staticmethod
    def _top(found: dict[str, float], k: int | None) -> dict[str, float]:
        return dict(sorted(found.items(), key=lambda pair: -pair[1])[: k or 0])

    @property
    def handler(self) -> Handler:
        """Answers requests on loopback."""

        async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
            body: dict[str, Any] = dict(received.json)
            if received.path.endswith("/tokenize"):
                status = 200 if self.has_tokenizer else 404
                tokens = json.dumps({"tokens": self.tokenize(body["content"])}).encode()
                await answering(tokens, status, "application/json")(received, writer)
                return
            self.served[str(body["prompt"])] += 1
            if self.holds_after is not None and self.served.total() > self.holds_after:
                self.held.set()
                await received.gone.wait()
                return
            status = 200
            if self.fails or (self.refuses_echo and body.get("echo")):
                message = "the engine is gone" if self.fails else "echo is not supported"
                status, answer = (500 if self.fails else 400), json.dumps({"error": {"message": message}})
            else:
                answer = json.dumps(self.answer(body))
            kind = "application/json"
            if status == 200 and body.get("stream"):
                kind, answer = "text/event-stream", f"data: {answer}\n\ndata: [DONE]\n\n"
            await answering(answer.encode(), status, kind)(received, writer)

        return handle
