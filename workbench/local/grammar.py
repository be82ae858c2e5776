"""Check grammars in a child process with limits on time and memory.

llama.cpp's grammar sampler can take exponential time and memory for a single token and cannot be interrupted.
So each request with a grammar has a child process; meanwhile the engine continues with other requests.

`python -m workbench.local.grammar MODEL LENGTH` is that child. It reads a grammar of LENGTH bytes from
standard input, then lines with a choice's index and a token. For each it writes whether the grammar allows
the token next, and accepts it if so; if not, a bit mask of the allowed tokens of the vocabulary follows.
"""

from __future__ import annotations

import ctypes as c
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workbench.local.llama_library import TokenData, TokenDataArray, load_library

TOKEN_SECONDS = 2.0
"""Maximum CPU seconds per token; the first includes parsing the grammar."""
_REQUEST_SECONDS = 300
"""Maximum CPU seconds for all choices of a request."""
_MEMORY = 2**30
"""Maximum bytes of memory, in addition to the model."""
_ALLOWED, _NOT_ALLOWED, _BROKEN = b"y", b"n", b"b"


@dataclass(frozen=True, slots=True)
class GrammarVerdict:
    """The result of checking a token."""

    is_allowed: bool = False
    allowed: NDArray[np.bool_] | None = None
    """The mask of allowed tokens, if the token is not allowed."""
    error: str = ""
    """Why this and all further checks fail; otherwise empty."""


OnVerdict = Callable[[GrammarVerdict], None]


class Grammar:
    """The grammar of a request, with a separate state for each choice, in a child process."""

    def __init__(self, model: Path, vocabulary: int, text: str) -> None:
        self._model = model
        self._vocabulary = vocabulary
        self._text = text.encode()
        self._questions: queue.SimpleQueue[tuple[int, int, OnVerdict] | None] = queue.SimpleQueue()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_closed = False
        threading.Thread(target=self._run, name="grammar", daemon=True).start()

    def ask(self, index: int, token: int, on_verdict: OnVerdict) -> None:
        """Check whether a choice may continue with a token, and accept the token if so.

        `on_verdict` is called in the grammar's own thread.
        """
        self._questions.put((index, token, on_verdict))

    def close(self) -> None:
        """End the child process."""
        self._is_closed = True
        self._questions.put(None)
        if self._process is not None:
            self._process.kill()

    def _run(self) -> None:
        with subprocess.Popen(
            [sys.executable, "-m", __name__, str(self._model), str(len(self._text))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            self._process = process
            error = ""
            while not self._is_closed and (question := self._questions.get()) is not None:
                index, token, on_verdict = question
                verdict = GrammarVerdict(error=error) if error else self._ask(process, index, token)
                error = verdict.error
                on_verdict(verdict)
            process.kill()

    def _ask(self, process: subprocess.Popen[bytes], index: int, token: int) -> GrammarVerdict:
        assert process.stdin is not None and process.stdout is not None
        text, self._text = self._text, b""
        try:
            process.stdin.write(text + f"{index} {token}\n".encode())
            process.stdin.flush()
            status = process.stdout.read(1)
            bits = process.stdout.read((self._vocabulary + 7) // 8) if status == _NOT_ALLOWED else b""
        except OSError:
            status = b""
            with suppress(OSError):
                process.stdin.close()
        match status:
            case b"y":
                return GrammarVerdict(is_allowed=True)
            case b"n":
                flags = np.unpackbits(np.frombuffer(bits, np.uint8), count=self._vocabulary)
                return GrammarVerdict(allowed=flags.astype(np.bool_))
            case b"b":
                return GrammarVerdict(error="is not a valid GBNF grammar with a rule named root")
        return GrammarVerdict(
            error=f"takes more than {TOKEN_SECONDS:g} s of computing for a token, or much memory"
        )


class _Checker:
    """Checks tokens in the child process."""

    def __init__(self, model: str, text: bytes) -> None:
        self._library = load_library()
        params = self._library.llama_model_default_params()
        loaded = self._library.llama_model_load_from_file(os.fsencode(model), params)
        self._vocab = self._library.llama_model_get_vocab(loaded)
        size = self._library.llama_vocab_n_tokens(self._vocab)
        self._text = text
        self._samplers: dict[int, int | None] = {}
        self._data = np.zeros(size, np.dtype(TokenData))

    def check(self, index: int, token: int) -> bytes:
        """Return the answer for a token, and accept the token if it is allowed."""
        if index not in self._samplers:
            create = self._library.llama_sampler_init_grammar
            is_whole = b"\0" not in self._text
            self._samplers[index] = create(self._vocab, self._text, b"root") if is_whole else None
        sampler = self._samplers[index]
        if not sampler:
            return _BROKEN
        data = TokenData(token, 0, 0)
        self._library.llama_sampler_apply(sampler, TokenDataArray(c.addressof(data), 1, -1, False))
        if data.logit == 0:
            self._library.llama_sampler_accept(sampler, token)
            return _ALLOWED
        size = len(self._data)
        self._data["id"], self._data["logit"] = np.arange(size), 0
        self._library.llama_sampler_apply(sampler, TokenDataArray(self._data.ctypes.data, size, -1, False))
        return _NOT_ALLOWED + np.packbits(self._data["logit"] == 0).tobytes()


def _serve(model: str, length: int) -> None:
    import resource
    import signal

    checker = _Checker(model, sys.stdin.buffer.read(length))
    # Exceeding a limit ends the process, even within the library.
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_REQUEST_SECONDS, _REQUEST_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin.buffer:
        signal.setitimer(signal.ITIMER_PROF, TOKEN_SECONDS)
        answer = checker.check(*map(int, line.split()))
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]))
