"""A chain of llama.cpp's samplers for one choice."""

from __future__ import annotations

import ctypes as c
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.local.llama_library import TokenData, TokenDataArray
from workbench.local.llama_model import LlamaModel
from workbench.local.sampler_options import SamplerOptions

_DRY_BREAKERS = (b"\n", b":", b'"', b"*")
"""Texts that end a repetition for DRY: llama.cpp's defaults."""
_MIROSTAT_TOKENS = 100
"""Number of tokens that Mirostat's estimate uses: llama.cpp's default."""


class UnsupportedFieldError(Exception):
    """The installed engine lacks the sampler that a field needs; the only argument is the field's name."""


class Sampler:
    """Chooses the tokens of one choice."""

    def __init__(self, model: LlamaModel, sampling: SamplerOptions, prompt: Sequence[int], seed: int) -> None:
        """Create the chain. Raises UnsupportedFieldError if the installed engine lacks a sampler."""
        self._library = library = model.library
        self._chain = library.llama_sampler_chain_init(True)
        biases = dict(sampling.logit_bias)
        if sampling.ignore_eos:
            biases |= dict.fromkeys(model.end_tokens, float("-inf"))
        self._biased_tokens = np.array(list(biases), np.intp)
        self._biases = np.array(list(biases.values()), np.float32)
        self._ids = np.arange(model.facts.vocabulary, dtype=np.int32)
        self._data = np.zeros(model.facts.vocabulary, np.dtype(TokenData))
        self._sees_past_tokens = sampling.sees_past_tokens
        steps = _chain(model, sampling, seed)
        self._is_greedy = [name for _, name, _ in steps] == ["greedy"]
        for field, name, arguments in steps:
            create = getattr(library, f"llama_sampler_init_{name}", None)
            if create is None:
                self.close()
                raise UnsupportedFieldError(field)
            library.llama_sampler_chain_add(self._chain, create(*arguments))
        if self._sees_past_tokens:
            for token in prompt:
                library.llama_sampler_accept(self._chain, token)

    def choose(self, logits: NDArray[np.float32]) -> int:
        """Choose a token; `logits` has one entry per token of the vocabulary."""
        # Biased in place and restored afterwards: copying all logits would take longer than all the rest.
        unbiased = logits[self._biased_tokens]
        logits[self._biased_tokens] += self._biases
        token = self._choose(logits)
        logits[self._biased_tokens] = unbiased
        return token

    def _choose(self, logits: NDArray[np.float32]) -> int:
        if self._is_greedy:
            return int(logits.argmax())
        data = self._data
        data["id"], data["logit"] = self._ids, logits
        array = TokenDataArray(data.ctypes.data, len(data), -1, False)
        self._library.llama_sampler_apply(self._chain, array)
        assert array.data is not None
        return int(TokenData.from_address(array.data + array.selected * c.sizeof(TokenData)).id)

    def accept(self, token: int) -> None:
        """Add a token to the past tokens that the samplers see."""
        if self._sees_past_tokens:
            self._library.llama_sampler_accept(self._chain, token)

    def close(self) -> None:
        """Free the chain."""
        self._library.llama_sampler_free(self._chain)


def _chain(model: LlamaModel, sampling: SamplerOptions, seed: int) -> list[tuple[str, str, tuple[Any, ...]]]:
    """Return the active samplers in llama.cpp's order: the field that needs it, its name, its arguments."""
    size = model.facts.vocabulary
    penalties = (sampling.repetition_penalty, sampling.frequency_penalty, sampling.presence_penalty)
    repetition = (size, sampling.repeat_last_n, *penalties)
    breakers = (c.c_char_p * len(_DRY_BREAKERS))(*_DRY_BREAKERS)
    dry = (
        *(sampling.dry_multiplier, sampling.dry_base),
        *(sampling.dry_allowed_length, sampling.dry_penalty_last_n, breakers, len(breakers)),
    )
    temperature = (sampling.temperature, sampling.dynatemp_range, sampling.dynatemp_exponent)
    xtc = (sampling.xtc_probability, sampling.xtc_threshold, 1, seed)
    mirostat = sampling.mirostat if sampling.temperature else 0
    surprise = (sampling.mirostat_tau, sampling.mirostat_eta)
    plain = not mirostat
    is_greedy = not sampling.temperature
    is_tempered = not is_greedy and temperature[:2] != (1, 0)
    steps: list[tuple[bool, str, str, tuple[Any, ...]]] = [
        (plain and penalties != (1, 0, 0), "repetition_penalty", "penalties", repetition),
        (plain and sampling.dry_multiplier > 0, "dry_multiplier", "dry", (model.vocab, *dry)),
        (plain and sampling.top_n_sigma >= 0, "top_n_sigma", "top_n_sigma", (sampling.top_n_sigma,)),
        (plain and sampling.top_k > 0, "top_k", "top_k", (sampling.top_k,)),
        (plain and sampling.typical_p < 1, "typical_p", "typical", (sampling.typical_p, 1)),
        (plain and sampling.top_p < 1, "top_p", "top_p", (sampling.top_p, 1)),
        (plain and sampling.min_p > 0, "min_p", "min_p", (sampling.min_p, 1)),
        (plain and sampling.xtc_probability > 0, "xtc_probability", "xtc", xtc),
        (is_tempered, "temperature", "temp_ext", temperature),
        (mirostat == 1, "mirostat", "mirostat", (size, seed, *surprise, _MIROSTAT_TOKENS)),
        (mirostat == 2, "mirostat", "mirostat_v2", (seed, *surprise)),
        (plain and is_greedy, "temperature", "greedy", ()),
        (plain and not is_greedy, "seed", "dist", (seed,)),
    ]
    return [(field, name, arguments) for is_active, field, name, arguments in steps if is_active]
