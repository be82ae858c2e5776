"""What a terminal gets: control characters as visible text, never as control codes."""

from __future__ import annotations

import asyncio
import os
import pty
import sys

from tests.client.loopback import DONE, answering, event, serving


async def shown_on_terminal(*argv: str) -> str:
    """What a command writes to a terminal."""
    parent, child = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", "import sys; from workbench.cli import main; sys.exit(main())"),
        *argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=child,
        stderr=asyncio.subprocess.DEVNULL,
    )
    os.close(child)
    written = b""
    async with asyncio.timeout(60):
        await process.wait()
    while True:
        try:
            chunk = os.read(parent, 65536)
        except OSError:
            break
        if not chunk:
            break
        written += chunk
    os.close(parent)
    return written.decode()


async def test_escape_sequences_of_a_model_are_shown_and_not_obeyed() -> None:
    text = "a\x1b[31mred\x1b]0;title\x07\x9b2J\u202eb\tc\nd"
    async with serving(answering(event(text, finish_reason="stop") + DONE)) as server:
        shown = await shown_on_terminal("run", "--prompt", "x", "--endpoint", server.base_url)
    assert shown == "a\\e[31mred\\e]0;title\\a\\x9b2J\\u202eb\tc\r\nd\r\n"


async def test_json_on_a_terminal_is_plain_ascii() -> None:
    async with serving(answering(event("\x9bé\u202e", finish_reason="stop") + DONE)) as server:
        shown = await shown_on_terminal("run", "--prompt", "x", "--endpoint", server.base_url, "--json")
    assert shown.isascii()
    assert "\\u009b\\u00e9\\u202e" in shown
