"""What the endpoint's tokenizer tells of the prompt: whether it fits, and its token ids."""

from __future__ import annotations

import asyncio
import json

from textual.pilot import Pilot

from tests.client.loopback import JSON, Received, answering
from tests.tui.scripted import answer, until, workbench
from tests.tui.test_wiring import prompt_frame, toasts, use_tokenizer
from workbench.domain.prompt import PromptKind
from workbench.tui.app import WorkbenchApp
from workbench.tui.popups.picker import Picker

VOCABULARY = ["", "One", " and", " two", " three"]
CONTEXT = 20


async def llama(received: Received, writer: asyncio.StreamWriter) -> None:
    """A server with llama.cpp's tokenizer of four words, and a small context."""
    match received.path:
        case "/tokenize":
            found: list[int] = []
            text = str(received.json["content"])
            while text:
                word = max((known for known in VOCABULARY if known and text.startswith(known)), key=len)
                found.append(VOCABULARY.index(word))
                text = text.removeprefix(word)
            value: object = {"tokens": [{"id": id, "piece": VOCABULARY[id]} for id in found]}
        case "/detokenize":
            ids = received.json["tokens"]
            assert isinstance(ids, list)
            value = {"content": "".join(VOCABULARY[id] for id in ids if isinstance(id, int))}
        case "/props":
            value = {"default_generation_settings": {"n_ctx": CONTEXT}}
        case _:
            await answering(answer(" went"))(received, writer)
            return
    await answering(json.dumps(value).encode(), content_type=JSON)(received, writer)


async def choose_kind(app: WorkbenchApp, pilot: Pilot[int], kind: PromptKind) -> None:
    """Choose a prompt kind from its list."""
    app.main.do("choose_kind")
    await until(pilot, lambda: isinstance(app.screen, Picker))
    rows = list(PromptKind)
    here = rows.index(app.workspace.drafting.kind)
    steps = rows.index(kind) - here
    await pilot.press(*["down" if steps > 0 else "up"] * abs(steps), "enter")
    await until(pilot, lambda: app.screen is app.main)


async def test_a_prompt_that_the_context_cannot_hold_is_warned_of() -> None:
    async with workbench(llama) as (app, pilot, _):
        use_tokenizer(app)
        app.workspace.drafting.set_text("One" + " and two" * 10)
        await until(pilot, lambda: "! 21 tokens exceed the context of 20" in prompt_frame(app))


async def test_max_tokens_that_the_context_cannot_hold_are_warned_of_as_they_change() -> None:
    async with workbench(llama) as (app, pilot, _):
        use_tokenizer(app)
        app.workspace.drafting.set_text("One" + " and two" * 5)
        await until(
            pilot, lambda: "max_tokens 128 exceeds what the context of 20 leaves" in prompt_frame(app)
        )
        await pilot.press("f3")
        app.main.go_to("max_tokens")
        await pilot.press("9", "enter")
        await until(pilot, lambda: prompt_frame(app) == "11 tok")


async def test_a_prompt_becomes_token_ids_and_text_again_and_each_can_be_undone() -> None:
    async with workbench(llama) as (app, pilot, _):
        use_tokenizer(app)
        drafting = app.workspace.drafting
        drafting.set_text("One and two")
        await choose_kind(app, pilot, PromptKind.TOKENS)
        await until(pilot, lambda: (drafting.kind, drafting.text) == (PromptKind.TOKENS, "1, 2, 3"))
        await until(pilot, lambda: app.main.prompt.text == "1, 2, 3")
        await pilot.press("ctrl+z")
        await until(pilot, lambda: (drafting.kind, drafting.text) == (PromptKind.TEXT, "One and two"))
        await pilot.press("ctrl+y")
        await until(pilot, lambda: drafting.text == "1, 2, 3")
        await choose_kind(app, pilot, PromptKind.TEXT)
        await until(pilot, lambda: (drafting.kind, drafting.text) == (PromptKind.TEXT, "One and two"))


async def test_several_texts_become_lists_of_token_ids_but_not_one() -> None:
    async with workbench(llama) as (app, pilot, _):
        use_tokenizer(app)
        drafting = app.workspace.drafting
        drafting.set_kind(PromptKind.TEXTS)
        drafting.set_text("One\n---\nOne two")
        await choose_kind(app, pilot, PromptKind.TOKENS)
        await until(pilot, lambda: "There are 2 prompts" in "".join(toasts(app)))
        assert drafting.kind is PromptKind.TEXTS
        await choose_kind(app, pilot, PromptKind.TOKEN_LISTS)
        await until(pilot, lambda: drafting.text == "1\n1, 3")


async def test_token_ids_that_no_text_gives_stay_token_ids() -> None:
    async with workbench(llama) as (app, pilot, _):
        use_tokenizer(app)
        drafting = app.workspace.drafting
        drafting.set_kind(PromptKind.TOKENS)
        drafting.set_text("1, 0, 2")
        await choose_kind(app, pilot, PromptKind.TEXT)
        await until(pilot, lambda: "No text gives exactly these token ids" in "".join(toasts(app)))
        assert (drafting.kind, drafting.text) == (PromptKind.TOKENS, "1, 0, 2")


async def test_without_a_tokenizer_the_text_stays_and_that_is_said() -> None:
    async with workbench(llama) as (app, pilot, _):
        drafting = app.workspace.drafting
        drafting.set_text("One and two")
        await choose_kind(app, pilot, PromptKind.TOKENS)
        message = "This endpoint has no tokenizer, so the text was not converted."
        await until(pilot, lambda: toasts(app) == [message])
        assert (drafting.kind, drafting.text) == (PromptKind.TOKENS, "One and two")
