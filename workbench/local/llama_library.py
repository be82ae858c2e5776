"""ctypes bindings of llama.cpp's C interface, as exported by the engine's wheel.

The wheel ships no headers, so symbols and structure layouts are first checked in a child process: with an
incompatible version of the engine the child fails or crashes, and the program reports this. Parameter
structures are declared larger than they are, and only their checked fields are written; all other fields keep
the library's defaults.

`python -m workbench.local.llama_library MODEL` is that child.
"""

from __future__ import annotations

import ctypes as c
import importlib.util
import math
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from workbench.domain.errors import EngineError

_CHECK_SECONDS = 120
SPIN_COUNT = "300"
"""How often the engine's threads spin before they sleep; they wait hundreds of times per token.

On two idle cores a token takes 24 ms without spinning, and 8 ms with this count or more. Beside one busy
program it takes 18 ms without spinning, 21 with this count, and 47 or 89 with 10 or 100 times the count;
beside two busy programs, 43, 24, 20 and 21.
"""
FLASH_ATTENTION_ON = 1
KEY_TYPES = {8: "q8_0", 30: "bf16"}
"""Key cache types for which flash attention gives a token the same logits in every batch, best first.

For the 300 tokens of a prompt, evaluated one by one and in batches of 128, all logits were bit-identical with
either type. With F16 or F32 keys all but the first token's differed, by up to 1.5; without flash attention
those of most tokens differed with every type. Q8_0 keys must have a multiple of 32 values.
"""


class ModelParams(c.Structure):
    """`llama_model_params`; no field is set."""

    _fields_ = [("fields", c.c_uint64 * 64)]


class ContextParams(c.Structure):
    """`llama_context_params`."""

    _fields_ = [
        ("n_ctx", c.c_uint32),
        ("n_batch", c.c_uint32),
        ("n_ubatch", c.c_uint32),
        ("n_seq_max", c.c_uint32),
        ("_outputs", c.c_uint32 * 3),
        ("n_threads", c.c_int32),
        ("n_threads_batch", c.c_int32),
        ("_types", c.c_int32 * 4),
        ("flash_attn_type", c.c_int32),
        ("_ropes", c.c_uint32 * 8),
        ("_callback", c.c_void_p * 2),
        ("type_k", c.c_int32),
        ("_others", c.c_uint64 * 60),
    ]


class Batch(c.Structure):
    """`llama_batch`: tokens to evaluate, as parallel arrays."""

    _fields_ = [
        ("n_tokens", c.c_int32),
        ("token", c.c_void_p),
        ("embd", c.c_void_p),
        ("pos", c.c_void_p),
        ("n_seq_id", c.c_void_p),
        ("seq_id", c.c_void_p),
        ("logits", c.c_void_p),
    ]


class TokenData(c.Structure):
    """`llama_token_data`: a token that a sampler may choose."""

    _fields_ = [("id", c.c_int32), ("logit", c.c_float), ("p", c.c_float)]


class TokenDataArray(c.Structure):
    """`llama_token_data_array`: the tokens that samplers filter, reorder and choose from."""

    _fields_ = [
        ("data", c.c_void_p),
        ("size", c.c_size_t),
        ("selected", c.c_int64),
        ("sorted", c.c_bool),
    ]


_POINTER, _INT, _UINT, _FLOAT = c.c_void_p, c.c_int32, c.c_uint32, c.c_float
_SIZE, _TEXT, _BOOL = c.c_size_t, c.c_char_p, c.c_bool
_LOG = c.CFUNCTYPE(None, c.c_int, c.c_char_p, c.c_void_p)

REQUIRED: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "llama_backend_init": (None,),
        "llama_log_set": (None, _LOG, _POINTER),
        "llama_model_default_params": (ModelParams,),
        "llama_context_default_params": (ContextParams,),
        "llama_model_load_from_file": (_POINTER, _TEXT, ModelParams),
        "llama_model_free": (None, _POINTER),
        "llama_init_from_model": (_POINTER, _POINTER, ContextParams),
        "llama_free": (None, _POINTER),
        "llama_model_get_vocab": (_POINTER, _POINTER),
        "llama_model_n_ctx_train": (_INT, _POINTER),
        "llama_model_n_params": (c.c_uint64, _POINTER),
        "llama_model_size": (c.c_uint64, _POINTER),
        "llama_model_chat_template": (_TEXT, _POINTER, _TEXT),
        "llama_model_has_encoder": (_BOOL, _POINTER),
        "llama_vocab_n_tokens": (_INT, _POINTER),
        "llama_vocab_bos": (_INT, _POINTER),
        "llama_vocab_eos": (_INT, _POINTER),
        "llama_vocab_is_eog": (_BOOL, _POINTER, _INT),
        "llama_vocab_get_text": (_TEXT, _POINTER, _INT),
        "llama_tokenize": (_INT, _POINTER, _TEXT, _INT, _POINTER, _INT, _BOOL, _BOOL),
        "llama_token_to_piece": (_INT, _POINTER, _INT, _POINTER, _INT, _INT, _BOOL),
        "llama_n_ctx_seq": (_UINT, _POINTER),
        "llama_n_batch": (_UINT, _POINTER),
        "llama_n_ubatch": (_UINT, _POINTER),
        "llama_n_seq_max": (_UINT, _POINTER),
        "llama_n_threads": (_INT, _POINTER),
        "llama_n_threads_batch": (_INT, _POINTER),
        "llama_decode": (_INT, _POINTER, Batch),
        "llama_get_logits": (_POINTER, _POINTER),
        "llama_get_memory": (_POINTER, _POINTER),
        "llama_memory_seq_rm": (_BOOL, _POINTER, _INT, _INT, _INT),
        "llama_state_seq_get_size": (_SIZE, _POINTER, _INT),
        "llama_state_seq_get_data": (_SIZE, _POINTER, _POINTER, _SIZE, _INT),
        "llama_state_seq_set_data": (_SIZE, _POINTER, _POINTER, _SIZE, _INT),
        "llama_sampler_chain_default_params": (_BOOL,),
        "llama_sampler_chain_init": (_POINTER, _BOOL),
        "llama_sampler_chain_add": (None, _POINTER, _POINTER),
        "llama_sampler_accept": (None, _POINTER, _INT),
        "llama_sampler_apply": (None, _POINTER, c.POINTER(TokenDataArray)),
        "llama_sampler_free": (None, _POINTER),
        "llama_sampler_init_greedy": (_POINTER,),
        "llama_sampler_init_dist": (_POINTER, _UINT),
        "llama_sampler_init_temp_ext": (_POINTER, _FLOAT, _FLOAT, _FLOAT),
        "llama_sampler_init_top_k": (_POINTER, _INT),
        "llama_sampler_init_top_p": (_POINTER, _FLOAT, _SIZE),
        "llama_sampler_init_min_p": (_POINTER, _FLOAT, _SIZE),
        "llama_sampler_init_penalties": (_POINTER, _INT, _INT, _FLOAT, _FLOAT, _FLOAT),
    }
)
"""Required functions: the result type, then the argument types."""

OPTIONAL: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "llama_sampler_init_grammar": (_POINTER, _POINTER, _TEXT, _TEXT),
        "llama_sampler_init_dry": (
            *(_POINTER, _POINTER, _FLOAT, _FLOAT, _INT, _INT),
            *(c.POINTER(_TEXT), _SIZE),
        ),
        "llama_sampler_init_xtc": (_POINTER, _FLOAT, _FLOAT, _SIZE, _UINT),
        "llama_sampler_init_typical": (_POINTER, _FLOAT, _SIZE),
        "llama_sampler_init_top_n_sigma": (_POINTER, _FLOAT),
        "llama_sampler_init_mirostat": (_POINTER, _INT, _UINT, _FLOAT, _FLOAT, _INT),
        "llama_sampler_init_mirostat_v2": (_POINTER, _UINT, _FLOAT, _FLOAT),
    }
)
"""Optional functions; without one, the server refuses the fields that need it."""


@cache
def load_library() -> c.CDLL:
    """Load the engine's library and declare its functions, except missing optional ones.

    Raises EngineError if the engine is not installed, cannot be loaded, or lacks required functions.
    """
    # The variable is read once, when the library is loaded.
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)
    try:
        library = c.CDLL(str(_library_file()))
    except OSError as error:
        if "libgomp" in str(error):
            raise EngineError(
                "The embedded engine needs the system library libgomp",
                hint="Run `apt-get install libgomp1`, or your system's equivalent.",
            ) from None
        raise EngineError("The embedded engine cannot be loaded", str(error)) from None
    missing = [name for name in REQUIRED if not hasattr(library, name)]
    if missing:
        raise _mismatch(f"It does not export {', '.join(missing[:3])}.")
    for name, (result, *arguments) in {**REQUIRED, **OPTIONAL}.items():
        if hasattr(library, name):
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    library.llama_log_set(_quiet, None)
    library.llama_backend_init()
    return library


def new_context(library: c.CDLL, model: int, params: ContextParams) -> int | None:
    """Create a context in which a token's logits do not depend on its batch; None on failure."""
    params.flash_attn_type = FLASH_ATTENTION_ON
    for type_k in KEY_TYPES:
        params.type_k = type_k
        context: int | None = library.llama_init_from_model(model, params)
        if context:
            return context
    return None


def check_library(model: Path) -> None:
    """Check in a child process that the library matches the declarations of this module.

    Raises EngineError if it does not, or if the child crashes or the model cannot be loaded.
    """
    load_library()
    command = [sys.executable, "-m", __name__, str(model)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=_CHECK_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _mismatch("Checking its C interface did not end.") from None
    if done.returncode == _UNUSABLE_MODEL:
        raise EngineError(
            f"The engine cannot load {model.name}",
            done.stdout.strip(),
            "Name another GGUF file with --model.",
        )
    if done.returncode:
        lines = (done.stdout.strip() or done.stderr.strip()).splitlines()
        raise _mismatch(lines[-1] if lines else f"Checking it ended with status {done.returncode}.")


def _library_file() -> Path:
    spec = importlib.util.find_spec("xllamacpp")
    if spec is None or not spec.submodule_search_locations:
        raise EngineError(
            "The embedded engine is not installed", hint="Run `pip install 'completion-workbench[local]'`."
        )
    for folder in spec.submodule_search_locations:
        for pattern in ("xllamacpp*.so", "xllamacpp*.pyd"):
            for file in Path(folder).glob(pattern):
                return file
    raise _mismatch("Its library file is missing.")


def _mismatch(reason: str) -> EngineError:
    return EngineError(
        f"The installed engine (xllamacpp {version('xllamacpp')}) does not have the expected C interface",
        reason,
        "Run `pip install 'completion-workbench[local]'` for the matching one, or use another endpoint.",
    )


_quiet = _LOG(lambda level, text, data: None)
"""Drops the library's log, which may quote requests."""

_MISMATCH, _UNUSABLE_MODEL = 1, 3
"""The child's exit statuses for an incompatible library and an unusable model file."""
_LOG_ERROR = 4
"""The level of errors in the library's log."""


def _end(status: int, reason: str) -> NoReturn:
    sys.stdout.write(reason)
    sys.stdout.flush()
    os._exit(status)


def _check(model_path: str) -> str:
    """Return the library's mismatch, or an empty text. Exits if the model is unusable; may crash."""
    library = load_library()
    log: list[tuple[int, str]] = []
    keep = _LOG(lambda level, text, data: log.append((level, text.decode(errors="replace").strip())))
    library.llama_log_set(keep, None)
    defaults = library.llama_context_default_params()
    known = (defaults.n_seq_max, defaults.flash_attn_type, defaults.type_k)
    if known != (1, -1, 1) or not 0 < defaults.n_threads < 4096:
        return "The context parameters have other defaults."
    model = library.llama_model_load_from_file(os.fsencode(model_path), library.llama_model_default_params())
    if not model:
        _end(_UNUSABLE_MODEL, _errors(log)[0])
    params = library.llama_context_default_params()
    params.n_ctx, params.n_batch, params.n_ubatch, params.n_seq_max = 1024, 96, 64, 2
    params.n_threads, params.n_threads_batch = 1, 2
    context = new_context(library, model, params)
    if not context:
        _end(_UNUSABLE_MODEL, _errors(log)[-1])
    names = ("n_ctx_seq", "n_batch", "n_ubatch", "n_seq_max", "n_threads", "n_threads_batch")
    if [getattr(library, f"llama_{name}")(context) for name in names] != [512, 96, 64, 2, 1, 2]:
        return "The context parameters are laid out differently."
    lines = [text for _, text in log]
    if not any("flash_attn" in line and "enabled" in line for line in lines):
        return "Flash attention cannot be switched on."
    # A recurrent model has no key cache.
    if not set(re.findall(r"\bK \((\w+)\)", "\n".join(lines))) <= set(KEY_TYPES.values()):
        return "The type of cached keys cannot be chosen."
    return _check_samplers(library)


def _errors(log: Sequence[tuple[int, str]]) -> list[str]:
    return [text for level, text in log if level == _LOG_ERROR] or [""]


def _check_samplers(library: c.CDLL) -> str:
    size = 8
    tokens = (TokenData * size)(*(TokenData(number, number, 0) for number in range(size)))
    array = TokenDataArray(c.addressof(tokens), size, -1, False)
    steps = [
        (library.llama_sampler_init_penalties(size, 64, 2.0, 0.0, 0.0), (7, 3.5)),
        (library.llama_sampler_init_penalties(size, 64, 1.0, 0.5, 0.0), (7, 3.0)),
        (library.llama_sampler_init_penalties(size, 64, 1.0, 0.0, 1.0), (7, 2.0)),
        (library.llama_sampler_init_temp_ext(0.1, 0.0, 1.0), (6, 60.0)),
    ]
    for sampler, (token, expected) in steps:
        library.llama_sampler_accept(sampler, 7)
        library.llama_sampler_apply(sampler, array)
        if not math.isclose(tokens[token].logit, expected):
            return "A sampler takes other arguments."
    for sampler, least in (
        (library.llama_sampler_init_top_k(4), 4),
        (library.llama_sampler_init_min_p(1e-9, 1), 3),
        (library.llama_sampler_init_top_p(0.5, 1), 1),
    ):
        library.llama_sampler_apply(sampler, array)
        if array.size != least:
            return "A sampler that filters keeps other tokens."
    library.llama_sampler_apply(library.llama_sampler_init_dist(1), array)
    chosen = TokenData.from_address(array.data + array.selected * c.sizeof(TokenData))
    return "" if chosen.id == 6 else "A sampler chooses another token."


def main() -> NoReturn:
    """Check the library with the model file given as argument."""
    problem = _check(sys.argv[1])
    _end(_MISMATCH if problem else 0, problem)


if __name__ == "__main__":
    main()
