"""Following a run on a system that lacks some of the signals."""

from __future__ import annotations

import subprocess
import sys

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


@pytest.mark.parametrize("module", ["workbench.cli.program", "workbench.domain.errors", "workbench.cli.run"])
def test_ctrl_c_ends_the_program_quietly_while_it_is_still_importing(module: str) -> None:
    script = f"""
import sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
from workbench.cli import main
sys.exit(main(["run", "--prompt", "x"]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (130, b"")
