"""Where copied text goes: to the terminal's clipboard by OSC 52, and to tmux where it stands in between."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from workbench.domain.display import visible

MOST = 700_000
"""Bytes above which terminals and multiplexers drop what is to be copied, as Base64 makes a third more."""

_SHOWN = 24
"""Characters up to which a text is shown as it was copied."""


async def copy_through_tmux(raw: bytes, environment: Mapping[str, str]) -> bool:
    """Put text into tmux's buffer, and by that into its terminal's clipboard; whether tmux took it.

    By default tmux takes no OSC 52 from the programs in it (`set-clipboard external`), but sends its own.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *("tmux", "load-buffer", "-w", "-"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env=dict(environment),
        )
        await process.communicate(raw)
    except OSError:
        return False
    return process.returncode == 0


def copied(text: str, *, is_too_long: bool = False, tmux: bool | None = None) -> str:
    """What to say of copied text; `tmux` is whether tmux took it, None where there is none."""
    amount = f'Copied "{visible(text)}"' if len(text) <= _SHOWN else f"Copied {len(text):,} characters"
    if is_too_long:
        return f"{amount}, for pasting here only: a terminal's clipboard does not take so much."
    return f"{amount}; tmux passes it on only with `set-clipboard on`." if tmux is False else amount
