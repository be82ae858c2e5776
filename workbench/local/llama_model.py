"""A loaded model: its tokenizer, and token evaluation in a context with several sequences."""

from __future__ import annotations

import ctypes as c
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workbench.domain.errors import EngineError
from workbench.local.engine import Facts
from workbench.local.llama_library import Batch, check_library, load_library, new_context

Logits = NDArray[np.float32]
"""One row per evaluated position, one column per token of the vocabulary."""

BATCH = 128
"""Maximum tokens per batch. Requests are cancelled, and take turns, between batches."""


class LlamaModel:
    """llama.cpp's model, vocabulary and context.

    Any thread may tokenise; everything else must be done by one thread at a time. A batch holds either tokens
    of one sequence, or one token of each of several, so that sequences do not affect each other's logits.
    """

    def __init__(self, path: Path, sequences: int, context: int) -> None:
        """Load a model file, for `sequences` texts of up to `context` tokens each.

        Raises EngineError if the engine is missing or incompatible, or cannot load the file.
        """
        check_library(path)
        self.library = library = load_library()
        self._model = library.llama_model_load_from_file(
            os.fsencode(path), library.llama_model_default_params()
        )
        if not self._model:
            raise EngineError(
                f"The engine cannot load {path.name}", hint="Name another GGUF file with --model."
            )
        if library.llama_model_has_encoder(self._model):
            raise EngineError(f"{path.name} has an encoder, so it cannot complete texts")
        self.vocab = library.llama_model_get_vocab(self._model)
        params = library.llama_context_default_params()
        params.n_ctx = sequences * context
        params.n_batch = params.n_ubatch = max(BATCH, sequences)
        params.n_seq_max = sequences
        params.n_threads = params.n_threads_batch = count_cores()
        self._context = new_context(library, self._model, params)
        if not self._context:
            raise EngineError(
                f"There is not enough memory for {sequences} texts of {context} tokens",
                hint="Choose less with --slots and --context.",
            )
        self._memory = library.llama_get_memory(self._context)
        self._token_bytes: dict[tuple[int, bool], bytes] = {}
        size = params.n_batch
        self._tokens, self._positions, self._sequences = (np.zeros(size, np.int32) for _ in range(3))
        self._counts, self._outputs = np.ones(size, np.int32), np.zeros(size, np.int8)
        self._sequence_pointers = self._sequences.ctypes.data + 4 * np.arange(size, dtype=np.uint64)
        self._batch = Batch(
            0,
            self._tokens.ctypes.data,
            None,
            self._positions.ctypes.data,
            self._counts.ctypes.data,
            self._sequence_pointers.ctypes.data,
            self._outputs.ctypes.data,
        )
        self.facts = self._read_facts(context)
        self.end_tokens = frozenset(
            token for token in range(self.facts.vocabulary) if library.llama_vocab_is_eog(self.vocab, token)
        )
        """Tokens with which the model ends its answer."""
        self.can_evaluate_together = self._check_together(sequences)
        """Whether a batch of several sequences gives the same logits as separate batches."""

    def _read_facts(self, context: int) -> Facts:
        library, model = self.library, self._model
        bos, eos = (
            self.token_bytes(token, special=True).decode(errors="replace") if token >= 0 else ""
            for token in (library.llama_vocab_bos(self.vocab), library.llama_vocab_eos(self.vocab))
        )
        return Facts(
            min(context, library.llama_n_ctx_seq(self._context)),
            library.llama_model_n_ctx_train(model),
            library.llama_vocab_n_tokens(self.vocab),
            library.llama_model_n_params(model),
            library.llama_model_size(model),
            (library.llama_model_chat_template(model, None) or b"").decode(errors="replace"),
            bos,
            eos,
        )

    def _check_together(self, sequences: int) -> bool:
        """Compare a token's logits alone and beside others: some weights are multiplied in row groups."""
        try:
            alone = self.evaluate_tokens([(0, 0, 0)]).copy()
            for count in range(2, sequences + 1):
                for sequence in range(sequences):
                    self.forget(sequence)
                beside = self.evaluate_tokens([(sequence, 0, sequence) for sequence in range(count)])
                if not np.array_equal(alone[0], beside[0]):
                    return False
            return True
        finally:
            for sequence in range(sequences):
                self.forget(sequence)

    def tokenize(self, text: str, add_special: bool = True, parse_special: bool = True) -> list[int]:
        """Return a text's token ids."""
        data = text.encode()
        room = len(data) + 16
        ids = np.empty(room, np.int32)
        count = self.library.llama_tokenize(
            self.vocab, data, len(data), ids.ctypes.data, room, add_special, parse_special
        )
        if count < 0:
            raise EngineError("The engine cannot tokenize the text")
        return [int(token) for token in ids[:count]]

    def token_bytes(self, token: int, special: bool) -> bytes:
        """Return a token's exact bytes; empty for a control token unless `special`."""
        known = self._token_bytes.get((token, special))
        if known is not None:
            return known
        room = 64
        while True:
            buffer = c.create_string_buffer(room)
            length = self.library.llama_token_to_piece(self.vocab, token, buffer, room, 0, special)
            if length >= 0:
                break
            room = -length
        return self._token_bytes.setdefault((token, special), buffer.raw[:length])

    def evaluate_prompt(self, sequence: int, start: int, tokens: Sequence[int], every: bool) -> Logits:
        """Evaluate at most `BATCH` tokens of one sequence, from position `start` on.

        Returns the logits at every position if `every`, else at the last; valid until the next evaluation.
        """
        count = len(tokens)
        self._tokens[:count] = tokens
        self._positions[:count] = np.arange(start, start + count)
        self._sequences[:count] = sequence
        self._outputs[:count] = every
        self._outputs[count - 1] = 1
        return self._decode(count, count if every else 1)

    def evaluate_tokens(self, tokens: Sequence[tuple[int, int, int]]) -> Logits:
        """Evaluate one token of each of several sequences: (sequence, position, token).

        Returns a row of logits for each; valid until the next evaluation.
        """
        count = len(tokens)
        for row, token in enumerate(tokens):
            self._sequences[row], self._positions[row], self._tokens[row] = token
        self._outputs[:count] = 1
        return self._decode(count, count)

    def forget(self, sequence: int) -> None:
        """Delete a sequence's state."""
        self.library.llama_memory_seq_rm(self._memory, sequence, -1, -1)

    def save(self, sequence: int) -> NDArray[np.uint8]:
        """Return an exact copy of a sequence's state."""
        state = np.empty(self.library.llama_state_seq_get_size(self._context, sequence), np.uint8)
        self.library.llama_state_seq_get_data(self._context, state.ctypes.data, state.nbytes, sequence)
        return state

    def restore(self, sequence: int, state: NDArray[np.uint8]) -> None:
        """Set a sequence's state to a copy made by `save`."""
        self.forget(sequence)
        if not self.library.llama_state_seq_set_data(
            self._context, state.ctypes.data, state.nbytes, sequence
        ):
            raise EngineError("The engine cannot restore a sequence")

    def close(self) -> None:
        """Free the context and the model."""
        self.library.llama_free(self._context)
        self.library.llama_model_free(self._model)

    def _decode(self, count: int, rows: int) -> Logits:
        self._batch.n_tokens = count
        status = self.library.llama_decode(self._context, self._batch)
        if status:
            raise EngineError("The engine cannot evaluate a batch", f"llama_decode returned {status}.")
        pointer = self.library.llama_get_logits(self._context)
        columns = self.facts.vocabulary
        return np.ctypeslib.as_array((c.c_float * (rows * columns)).from_address(pointer)).reshape(
            rows, columns
        )


def count_cores() -> int:
    """Count the physical cores that this process may use: two threads on one core slow each other down."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    processors = os.sched_getaffinity(0)
    files = (Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") for cpu in processors)
    return len({file.read_text() for file in files if file.exists()}) or len(processors)
