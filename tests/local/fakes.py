"""An engine that says what a test scripted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.domain.json_values import JsonValue
from workbench.local.engine import Candidate, Chunk, Facts

FACTS = Facts(64, 128, 1000, 1_000_000, 4_000_000, "{{ messages }}", "<bos>", "<eos>")


def chunk(text: str, made: int, logprob: float = -1.0, others: Mapping[str, float] | None = None) -> Chunk:
    """One token of a scripted choice; `others` are the alternatives, the token itself among them or not."""
    taken = Candidate(made, text.encode(), logprob)
    listed = {text: logprob} if others is None else others
    candidates = tuple(
        Candidate(made if one == text else 100 + place, one.encode(), value)
        for place, (one, value) in enumerate(listed.items())
    )
    return Chunk(text, made, taken, candidates)


def end(made: int, reason: str = "length") -> Chunk:
    """The end of a scripted choice."""
    return Chunk("", made, finish_reason=reason)


def tokens(texts: Iterable[str], logprob: float = -1.0) -> list[Chunk]:
    """A whole scripted choice of one token a text."""
    chunks = [chunk(text, number, logprob) for number, text in enumerate(texts, 1)]
    return [*chunks, end(len(chunks))]


@dataclass
class FakeEngine:
    """Answers each choice with the next script, or the last one again; every letter is a token."""

    scripts: list[list[Chunk]] = field(default_factory=lambda: [tokens(["a", "b"])])
    endless: bool = False
    """Whether choices repeat their first event until they are stopped."""
    bodies: list[Mapping[str, JsonValue]] = field(default_factory=list)
    running: int = 0
    most_running: int = 0
    gate: threading.Event = field(default_factory=threading.Event)
    """Choices wait here before their first event."""
    facts: Facts = FACTS

    def __post_init__(self) -> None:
        self.gate.set()
        self._lock = threading.Lock()

    def generate(self, body: Mapping[str, JsonValue], on_chunk: Callable[[Chunk], bool]) -> None:
        with self._lock:
            self.bodies.append(body)
            self.running += 1
            self.most_running = max(self.running, self.most_running)
            script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        try:
            self.gate.wait(10)
            if on_chunk(Chunk()):
                return
            while self.endless:
                if on_chunk(Chunk("x", 1)):
                    return
                threading.Event().wait(0.005)
            for one in script:
                if on_chunk(one):
                    return
        finally:
            with self._lock:
                self.running -= 1

    def tokenize(self, text: str, add_special: bool = True, parse_special: bool = True) -> list[int]:
        return [1] if text == "<bos>" else [ord(letter) % 1000 for letter in text]

    def pieces(self, text: str, add_special: bool, parse_special: bool) -> list[tuple[int, JsonValue]]:
        return [(ord(letter) % 1000, letter) for letter in text]

    def detokenize(self, ids: Sequence[int]) -> str:
        return "".join(f"<{token}>" for token in ids)

    def close(self) -> None:
        return None
