"""Another engine than the expected one is a clear error, never a crash."""

from __future__ import annotations

import ctypes.util
import sys
from pathlib import Path

import pytest

from tests.local.recurrent_model import write_recurrent_model
from workbench.domain.errors import EngineError
from workbench.local import llama_library
from workbench.local.llama_model import LlamaModel
from workbench.local.model_file import find_model


def test_a_library_that_exports_too_little_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama_library, "_library_file", lambda: ctypes.util.find_library("c"))
    with pytest.raises(EngineError) as caught:
        llama_library.load_library.__wrapped__()
    assert "does not have the expected C interface" in caught.value.title
    assert "llama_backend_init" in caught.value.message
    assert "completion-workbench[local]" in caught.value.hint


def test_a_file_that_is_not_a_library_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "xllamacpp.so"
    file.write_bytes(b"no library")
    monkeypatch.setattr(llama_library, "_library_file", lambda: file)
    with pytest.raises(EngineError) as caught:
        llama_library.load_library.__wrapped__()
    assert caught.value.title == "The embedded engine cannot be loaded"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("kill -SEGV $$", "Checking it ended with status -11."),
        ("echo 'The context parameters are laid out differently.'; exit 1", "laid out differently"),
        ("echo noise >&2; exit 134", "noise"),
    ],
)
def test_a_library_on_which_the_check_fails_or_crashes_is_refused(
    script: str, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(EngineError) as caught:
        llama_library.check_library(find_model())
    assert "does not have the expected C interface" in caught.value.title
    assert message in caught.value.message


@pytest.mark.slow
def test_the_pinned_library_is_as_expected() -> None:
    llama_library.check_library(find_model())
    library = llama_library.load_library()
    assert all(hasattr(library, name) for name in llama_library.OPTIONAL)


@pytest.mark.slow
def test_a_recurrent_model_which_caches_no_keys_can_be_used(tmp_path: Path) -> None:
    path = tmp_path / "recurrent.gguf"
    write_recurrent_model(path)
    model = LlamaModel(path, 2, 256)
    try:
        (logits,) = model.evaluate_prompt(0, 0, model.tokenize("ab"), every=False)
        assert len(logits) == model.facts.vocabulary
    finally:
        model.close()


CHECK_WITHOUT_CONTEXT = """
import sys
from workbench.local import llama_library
llama_library.KEY_TYPES = {12: "q4_K"}
llama_library.main()
"""


@pytest.mark.slow
def test_a_model_that_has_no_context_is_named_with_the_librarys_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    check = tmp_path / "check.py"
    check.write_text(CHECK_WITHOUT_CONTEXT)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} {check} "$3"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(EngineError) as caught:
        llama_library.check_library(find_model())
    assert caught.value.title == f"The engine cannot load {find_model().name}"
    assert "block size 256 does not divide" in caught.value.message
