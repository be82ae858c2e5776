"""Taking the columns out makes no difference to what a file means, whatever its texts look like."""

from __future__ import annotations

import tomllib

import pytest
import tomli
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.domain.builders import choice_of, run_of, token_of
from tests.storage.session_cases import runs, texts
from workbench.domain.run import Run
from workbench.storage.run_format import run_to_toml
from workbench.storage.toml_text import loads

_LONG = "0.5 " * 100
_LOOKS_LIKE_COLUMNS = f"a\n[[runs.tokens]]\nchoice = 0\nlogprob = '{_LONG}'\n[[runs]]\n"


def _file(*made: Run) -> bytes:
    return ("format = 1\n" + "".join(map(run_to_toml, made))).encode()


def _long_run(prompt: str, text: str) -> Run:
    return run_of(
        choice_of([token_of(f"{text}{index}", 0.5, other=0.25) for index in range(60)]), prompt=prompt
    )


@settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
@given(runs(), texts, texts)
def test_a_file_means_the_same(run: Run, prompt: str, text: str) -> None:
    raw = _file(_long_run(prompt, text), run, _long_run(text, prompt))
    # NaN is never equal to itself, but has one way to be written.
    assert repr(loads(raw)) == repr(tomllib.loads(raw.decode()))


@pytest.mark.parametrize("quotes", ["'''", '"""'])
def test_a_text_that_looks_like_columns_stays_a_text(quotes: str) -> None:
    columns = _LOOKS_LIKE_COLUMNS if quotes == '"""' else _LOOKS_LIKE_COLUMNS.replace("'", '"')
    raw = f"title = {quotes}{columns}{quotes}\n".encode() + _file(_long_run(_LOOKS_LIKE_COLUMNS, "x"))
    assert loads(raw) == tomllib.loads(raw.decode())


@given(st.integers(0, 4000))
def test_a_file_cut_off_anywhere_has_the_same_error(at: int) -> None:
    raw = _file(_long_run("Once", " upon"))[:at]
    try:
        document = tomli.loads(raw.decode())
    except tomli.TOMLDecodeError as error:
        with pytest.raises(tomli.TOMLDecodeError) as caught:
            loads(raw)
        assert str(caught.value) == str(error)
    else:
        assert loads(raw) == document


@pytest.mark.parametrize("control", [b"\x00", b"\x1b", b"\r", b"\x7f"])
def test_a_control_character_in_a_column_is_refused_as_by_the_parser(control: bytes) -> None:
    raw = _file(_long_run("Once", " upon")).replace(b"0.1 0.2", b"0.1" + control + b"0.2")
    with pytest.raises(tomli.TOMLDecodeError):
        loads(raw)
