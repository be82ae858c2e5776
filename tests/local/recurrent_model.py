"""A recurrent model (Mamba) of random weights as a GGUF file: the smallest that the engine loads."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

_TOKENS = ["<unk>", "<s>", "</s>", *(chr(code) for code in range(33, 127)), "ab"]
_WIDTH, _INNER, _KERNEL, _STATE, _RANK = 64, 128, 4, 16, 4
_SHAPES = {
    "token_embd.weight": (len(_TOKENS), _WIDTH),
    "output_norm.weight": (_WIDTH,),
    "blk.0.attn_norm.weight": (_WIDTH,),
    "blk.0.ssm_in.weight": (2 * _INNER, _WIDTH),
    "blk.0.ssm_conv1d.weight": (_INNER, _KERNEL),
    "blk.0.ssm_conv1d.bias": (_INNER,),
    "blk.0.ssm_x.weight": (_RANK + 2 * _STATE, _INNER),
    "blk.0.ssm_dt.weight": (_INNER, _RANK),
    "blk.0.ssm_dt.bias": (_INNER,),
    "blk.0.ssm_a": (_INNER, _STATE),
    "blk.0.ssm_d": (_INNER,),
    "blk.0.ssm_out.weight": (_WIDTH, _INNER),
}
_SETTINGS: dict[str, int | float | str | list[int] | list[str]] = {
    "general.architecture": "mamba",
    "mamba.context_length": 4096,
    "mamba.embedding_length": _WIDTH,
    "mamba.block_count": 1,
    "mamba.feed_forward_length": 0,
    "mamba.attention.head_count": 0,
    "mamba.attention.layer_norm_rms_epsilon": 1e-5,
    "mamba.ssm.conv_kernel": _KERNEL,
    "mamba.ssm.inner_size": _INNER,
    "mamba.ssm.state_size": _STATE,
    "mamba.ssm.time_step_rank": _RANK,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "default",
    "tokenizer.ggml.tokens": _TOKENS,
    "tokenizer.ggml.token_type": [3, 3, 3, *[1] * (len(_TOKENS) - 3)],
    "tokenizer.ggml.merges": ["a b"],
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 2,
}


def write_recurrent_model(path: Path) -> None:
    """Write the file, in GGUF's version 3."""
    random = np.random.default_rng(0)
    head, data = bytearray(b"GGUF" + struct.pack("<IQQ", 3, len(_SHAPES), len(_SETTINGS))), bytearray()
    for key, value in _SETTINGS.items():
        head += _text(key) + _typed(value)
    for name, shape in _SHAPES.items():
        # Dimensions stand in reverse, then the type (0: F32) and where the weights begin.
        head += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), 0, len(data))
        data += random.normal(0, 0.1, shape).astype("<f4").tobytes()
        data += bytes(-len(data) % 32)
    path.write_bytes(bytes(head) + bytes(-len(head) % 32) + bytes(data))


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _typed(value: int | float | str | list[int] | list[str]) -> bytes:
    match value:
        case int():
            return struct.pack("<II", 4, value)
        case float():
            return struct.pack("<If", 6, value)
        case str():
            return struct.pack("<I", 8) + _text(value)
    items = [struct.pack("<i", item) if isinstance(item, int) else _text(item) for item in value]
    kind = 5 if isinstance(value[0], int) else 8
    return struct.pack("<IIQ", 9, kind, len(items)) + b"".join(items)
