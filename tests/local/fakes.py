"""An engine that says what a test scripted."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from workbench.local.engine import Chunk, EngineToken, Facts, Generation

FACTS = Facts(64, 128, 1000, 1_000_000, 4_000_000, "{{ messages }}", "<bos>", "<eos>")


def chunk(text: str, logprob: float = -1.0, others: Mapping[str, float] | None = None) -> Chunk:
    """One token of a scripted choice; `others` are the alternatives, the token itself among them or not."""
    listed = {text: logprob} if others is None else others
    candidates = tuple(
        EngineToken(1 if token == text else 100 + index, token.encode(), value)
        for index, (token, value) in enumerate(listed.items())
    )
    return Chunk(token=EngineToken(1, text.encode(), logprob, candidates))


def end(reason: str = "length") -> Chunk:
    """The end of a scripted choice."""
    return Chunk(finish_reason=reason)


def tokens(texts: Iterable[str], logprob: float = -1.0) -> list[Chunk]:
    """A whole scripted choice of one token a text."""
    return [*(chunk(text, logprob) for text in texts), end()]


@dataclass
class FakeEngine:
    """Answers each choice with the next script, or the last one again; every letter is a token."""

    scripts: list[list[Chunk]] = field(default_factory=lambda: [tokens(["a", "b"])])
    endless: bool = False
    """Whether choices repeat a token until they are ended."""
    generations: list[Generation] = field(default_factory=list)
    running: int = 0
    gate: threading.Event = field(default_factory=threading.Event)
    """Requests wait here before their first event."""
    facts: Facts = FACTS

    def __post_init__(self) -> None:
        self.gate.set()
        self._lock = threading.Lock()
        self._stop = threading.Event()

    def submit(self, generation: Generation) -> None:
        with self._lock:
            self.generations.append(generation)
            self.running += 1
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._generate, args=(generation,), daemon=True).start()

    def _generate(self, generation: Generation) -> None:
        try:
            self.gate.wait(10)
            for index in range(len(generation.prompts) * len(generation.seeds)):
                with self._lock:
                    script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
                self._report(generation, index, Chunk())
                while self.endless and not (generation.is_cancelled or self._stop.is_set()):
                    self._report(generation, index, chunk("x"))
                    threading.Event().wait(0.005)
                for produced in script:
                    self._report(generation, index, produced)
        finally:
            with self._lock:
                self.running -= 1

    def _report(self, generation: Generation, index: int, produced: Chunk) -> None:
        if self._stop.is_set():
            produced = Chunk(error="the engine has stopped")
        if not (generation.is_cancelled or index in generation.ended):
            self._loop.call_soon_threadsafe(generation.on_chunk, index, produced)

    def tokenize(self, text: str, add_special: bool = True, parse_special: bool = True) -> list[int]:
        return [1] if text == "<bos>" else [ord(letter) % 1000 for letter in text]

    def token_bytes(self, token: int, special: bool) -> bytes:
        return chr(token).encode()

    def stop(self) -> None:
        self._stop.set()

    def close(self) -> None:
        self.stop()
