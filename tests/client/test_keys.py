"""Keys are found where their profile says, and shown nowhere."""

from __future__ import annotations

import asyncio
import gc
import sys
import traceback

import pytest

from workbench.client.keys import Keys, Secret
from workbench.domain.endpoint import CommandKey, EnvironmentKey
from workbench.domain.errors import EndpointError


async def test_a_key_is_read_from_the_named_variable_and_stripped() -> None:
    assert (await Keys({"K": " sk_1\n"}).find(EnvironmentKey("K"))).reveal() == "sk_1"


async def test_no_source_is_no_key() -> None:
    assert not await Keys({"OPENAI_API_KEY": "sk_1"}).find(None)


@pytest.mark.parametrize("environment", [{}, {"K": ""}, {"K": " \n"}])
async def test_an_unset_variable_is_named(environment: dict[str, str]) -> None:
    with pytest.raises(EndpointError, match="K is not set"):
        await Keys(environment).find(EnvironmentKey("K"))


@pytest.mark.parametrize("key", ["sk_ключ", "sk 1", "sk\x001", "“sk”"])
async def test_a_key_that_no_header_carries_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(EndpointError) as caught:
        await Keys({"K": key}).find(EnvironmentKey("K"))
    assert key not in "".join(traceback.format_exception(caught.value))


async def test_a_command_prints_the_key() -> None:
    source = CommandKey((sys.executable, "-c", "print('sk_2')"))
    assert (await Keys({}).find(source)).reveal() == "sk_2"


async def test_a_command_that_fails_says_why_and_not_what_it_printed() -> None:
    script = "import sys; print('sk_3'); print('locked sk_3', file=sys.stderr); sys.exit(1)"
    with pytest.raises(EndpointError, match="locked") as caught:
        await Keys({}).find(CommandKey((sys.executable, "-c", script)))
    assert "sk_3" not in str(caught.value)


async def test_a_command_that_fails_when_nobody_waits_any_more_says_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    finding = asyncio.create_task(Keys({}).find(CommandKey(("/bin/sh", "-c", "exit 1"))))
    await asyncio.sleep(0)
    finding.cancel()
    await asyncio.wait({finding})
    left = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.wait(left)
    del finding, left
    gc.collect()
    assert caplog.text == ""


async def test_a_command_that_is_not_there_is_named() -> None:
    with pytest.raises(EndpointError, match="no-such-command"):
        await Keys({}).find(CommandKey(("no-such-command",)))


def test_a_secret_shows_in_no_representation() -> None:
    secret = Secret("sk_4")
    assert "sk_4" not in f"{secret!r} {secret} {[secret]}"
    assert secret.redact("key sk_4!") == "key •••!"
    assert Secret().redact("abc") == "abc"


def test_what_is_too_short_for_a_key_is_masked_nowhere() -> None:
    # Servers that want any key at all are given such ones.
    assert Secret("x").redact("max_tokens is not an integer") == "max_tokens is not an integer"


@pytest.mark.parametrize(
    "echoed",
    ['a/b+c="d\\', '{"key": "a\\/b+c=\\"d\\\\"}', '{"key": "a/b+c=\\"d\\\\"}', "?key=a%2Fb%2Bc%3D%22d%5C"],
)
def test_a_secret_is_found_in_every_spelling(echoed: str) -> None:
    masked = Secret('a/b+c="d\\').redact(echoed)
    assert "•••" in masked
    assert "d" not in masked


async def test_what_a_command_complains_of_holds_no_key_that_it_may_have_read() -> None:
    script = 'echo "$VAULT_TOKEN and sk-Ab12Cd34Ef56Gh78 are bad: vault locked" >&2; exit 1'
    with pytest.raises(EndpointError, match="vault locked") as caught:
        await Keys({"VAULT_TOKEN": "tok_5"}).find(CommandKey(("sh", "-c", script)))
    assert "tok_5" not in str(caught.value)
    assert "Ab12" not in str(caught.value)
