"""Prompts of conversations: what an endpoint is asked of tokens and context, and what comes of it."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing

import pytest

from tests.client.loopback import JSON, Handler, Received, head, serving
from workbench.domain.conversation import Chat, Conversation, Message, Role, WhenFull
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.parameters import Parameters
from workbench.domain.prompt import TextPrompt
from workbench.runner.chat_request import ChatRequest, Prompter
from workbench.runner.connections import Connections

LLAMA = Chat(template="llama3")
BOS = "<|begin_of_text|>"


def telling(context: int | None, models: object = None, *, adds_bos: bool = False) -> Handler:
    """A server with llama.cpp's services, in which each character is a token."""

    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        answer: object = None
        if received.path == "/props" and context is not None:
            answer = {"default_generation_settings": {"n_ctx": context}}
        elif received.path == "/v1/models":
            answer = models
        elif received.path == "/tokenize" and isinstance(received.json, dict):
            pieces = list(str(received.json["content"]))
            pieces = [BOS, *pieces] if adds_bos and received.json.get("add_special") else pieces
            answer = {"tokens": [{"id": 1, "piece": text} for text in pieces]}
        body = json.dumps(answer).encode()
        writer.write((head(404, JSON, len(body)) if answer is None else head(200, JSON, len(body))) + body)
        await writer.drain()

    return handle


async def made(
    handler: Handler, chat: Chat, *texts: str, tokenizer: bool = True, context: int | None = None
) -> ChatRequest:
    roles = (Role.USER, Role.ASSISTANT)
    conversation = Conversation(tuple(Message(roles[at % 2], text) for at, text in enumerate(texts)))
    async with serving(handler) as server, aclosing(Connections({})) as connections:
        endpoint = Endpoint("e", server.base_url, tokenizer=tokenizer, context=context)
        async with aclosing(Prompter(connections, is_shown=True)) as prompter:
            return await prompter.request(
                chat, conversation, endpoint, "m", Parameters({"max_tokens": 10}), sending=True
            )


async def test_a_bos_that_the_endpoint_adds_itself_is_not_sent_twice() -> None:
    prompt = await made(telling(None, adds_bos=True), LLAMA, "Hi")
    assert isinstance(prompt.request.prompt, TextPrompt)
    assert prompt.request.prompt.text.startswith("<|start_header_id|>user")
    assert prompt.rendered.specials[0].start == 0
    assert prompt.notes == (f"{BOS} is not sent: the endpoint puts it there itself",)
    kept = await made(telling(None), LLAMA, "Hi")
    assert isinstance(kept.request.prompt, TextPrompt)
    assert kept.request.prompt.text.startswith(BOS)


@pytest.mark.parametrize(
    ("props", "models", "own", "size"),
    [
        (512, None, None, 512),
        (None, {"data": [{"id": "x", "n_ctx": 1}, {"id": "m", "max_model_len": 256}]}, None, 256),
        (None, {"data": [{"id": "only", "meta": {"n_ctx": 128}}]}, None, 128),
        (None, {"data": [{"id": "x"}, {"id": "y"}]}, None, None),
        (512, None, 64, 64),
        (None, None, None, None),
    ],
)
async def test_the_context_is_the_profiles_or_what_the_endpoint_tells(
    props: int | None, models: object, own: int | None, size: int | None
) -> None:
    prompt = await made(telling(props, models), Chat(template="plain"), "Hi", context=own)
    assert prompt.context == size


async def test_the_oldest_turns_are_left_out_by_count_or_by_a_guess_that_never_refuses() -> None:
    chat = Chat(template="plain", when_full=WhenFull.DROP_OLDEST)
    texts = ("one " * 9, "two " * 9, "three")
    counted = await made(telling(60), chat, *texts)
    assert counted.request.prompt == TextPrompt("User: three\nAssistant:")
    assert counted.left_out is not None
    assert counted.left_out.is_exact
    guessed = await made(telling(40), chat, *texts, tokenizer=False)
    assert guessed.request.prompt == counted.request.prompt
    with pytest.raises(BadValueError):
        await made(telling(40), Chat(template="plain"), *texts)
    prompt = await made(telling(40), Chat(template="plain"), *texts, tokenizer=False)
    assert prompt.left_out is not None
    assert not prompt.left_out.is_exact
    assert not prompt.left_out.dropped
