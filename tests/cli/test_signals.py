"""Following a run on a system that lacks some of the signals."""

from __future__ import annotations

import pytest

from tests.cli.in_process import serving_beside
from tests.client.loopback import DONE, answering, event
from workbench.cli import main


def test_a_run_needs_no_signal_that_a_system_may_lack(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.delattr("signal.SIGHUP")
    with serving_beside(answering(event(" fine", finish_reason="stop") + DONE)) as server:
        assert main(["run", "--prompt", "hi", "--endpoint", server.base_url]) == 0
    assert capfdbinary.readouterr().out == b" fine"
