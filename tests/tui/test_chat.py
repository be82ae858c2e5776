"""The chat screen: turns over plain completions, through a template that stays in the open."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from textual.pilot import Pilot

from tests.client.loopback import JSON, Handler, Received, head
from tests.tui.scripted import SIZES, answer, until, workbench
from workbench.domain.conversation import Role, Turn
from workbench.storage.session_store import SessionStore
from workbench.tui.app import WorkbenchApp
from workbench.tui.chat.screen import ChatScreen

TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"


def chatty(*answers: bytes) -> Handler:
    """A server that tells its template, and answers each completion by the next body."""
    waiting = list(answers)

    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        if received.path == "/props":
            body = json.dumps({"chat_template": TEMPLATE}).encode()
            writer.write(head(200, JSON, len(body)) + body)
        elif received.path.endswith("completions"):
            writer.write(head() + waiting.pop(0))
        else:
            writer.write(head(404, "text/plain", 0))
        await writer.drain()

    return handle


def answered(chat: ChatScreen) -> bool:
    return bool(chat.chat.path) and not chat.answering.is_running


def screen_of(app: WorkbenchApp) -> ChatScreen:
    assert isinstance(app.screen, ChatScreen)
    return app.screen


async def test_a_narrow_screen_shows_the_turns_alone_until_a_token_is_inspected() -> None:
    async with workbench(chatty(answer("Hello", " you")), (80, 24)) as (app, pilot, _):
        await pilot.press("f12")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
        turns = screen_of(app).turns
        assert not turns.inspector.display
        assert turns.strip.display
        assert turns.view.size.width > 70
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: turns.inspector.display and not turns.strip.display)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: not turns.inspector.display)
        screen_of(app).composer.text = "Hi"
        await pilot.press("f5")
        await until(pilot, lambda: answered(screen_of(app)))
        await pilot.press("f4", "left", "i")
        await until(pilot, lambda: turns.inspector.display and turns.inspector.has_focus)


@pytest.mark.parametrize("size", SIZES)
async def test_a_second_turn_holds_the_first_and_its_answer(size: tuple[int, int]) -> None:
    async with workbench(chatty(answer("Hello", " you"), answer("Bye")), size) as (app, pilot, loopback):
        await pilot.press("f12")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
        chat = screen_of(app)
        for turn, message in enumerate(("Hi", "Go"), 1):
            chat.composer.text = message
            await pilot.press("f5")
            await until(pilot, lambda turn=turn: len(chat.chat.path) == 2 * turn)  # type: ignore[misc]
            await until(pilot, lambda: not chat.answering.is_running)
        prompts = [
            request.json["prompt"] for request in loopback.requests if request.path.endswith("completions")
        ]
        assert prompts == [
            "<user>Hi<assistant>",
            "<user>Hi<assistant>Hello you<user>Go<assistant>",
        ]
        assert chat.composer.text == ""
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        assert len(app.main.output.runs) == 2


async def test_the_exact_prompt_is_shown_live() -> None:
    async with workbench(chatty()) as (app, pilot, _):
        await pilot.press("f12")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
        chat = screen_of(app)
        await pilot.press("ctrl+e")
        chat.composer.text = "Tell"
        await until(
            pilot,
            lambda: (
                [section.prompt for section in chat.turns.preview.view.sections] == ["<user>Tell<assistant>"]
            ),
        )


async def test_a_conversation_goes_on_where_the_session_was_left() -> None:
    async with workbench(chatty(answer("Hello", " you"))) as (app, pilot, _):
        await pilot.press("f12")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
        chat = screen_of(app)
        chat.composer.text = "Hi"
        await pilot.press("f5")
        await until(pilot, lambda: answered(chat))
        await until(pilot, lambda: len(app.workspace.keeper.session.chat.turns.all) == 2)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
        await until(pilot, lambda: not app.workspace.keeper.is_unsaved)
        path = app.workspace.keeper.path
    assert path is not None
    opened = SessionStore.open(path)
    opened.store.close()
    assert [(turn.role, turn.text) for turn in opened.session.chat.turns.path()] == [
        ("user", "Hi"),
        ("assistant", "Hello you"),
    ]
    async with workbench(chatty(answer("Bye"))) as (app, pilot, loopback):
        await until(pilot, lambda: len(app.main.output.runs) == 1)
        await pilot.press("f12")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
        screen_of(app).composer.text = "Go"
        await pilot.press("f5")
        await until(pilot, lambda: any(request.path.endswith("completions") for request in loopback.requests))
        assert loopback.requests[-1].json["prompt"] == "<user>Hi<assistant>Hello you<user>Go<assistant>"
        await until(pilot, lambda: not screen_of(app).answering.is_running)


async def test_a_turn_taken_back_stands_in_the_composer_again() -> None:
    async with workbench(chatty(answer("Hello"))) as (app, pilot, _):
        await pilot.press("f12")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
        chat = screen_of(app)
        chat.composer.text = "Hi"
        await pilot.press("f5")
        await until(pilot, lambda: answered(chat))
        await pilot.press("ctrl+b")
        assert chat.chat.path == ()
        assert chat.composer.text == "Hi"


async def test_an_endpoint_without_a_template_is_an_error_that_keeps_what_was_typed() -> None:
    async def nothing(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(head(404, "text/plain", 9) + b"not found")
        await writer.drain()

    async with workbench(nothing) as (app, pilot, _):
        await pilot.press("f12")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
        chat = screen_of(app)
        chat.composer.text = "Hi"
        await pilot.press("f5")
        await until(pilot, lambda: chat.has_class("-failed"))
        assert chat.composer.text == "Hi"
        assert chat.chat.path == ()


def held_back(talk: Handler) -> tuple[Handler, asyncio.Event, asyncio.Event]:
    """Delay the response with the template: returns the handler, "was requested" and "may respond"."""
    requested, go = asyncio.Event(), asyncio.Event()

    async def handle(received: Received, writer: asyncio.StreamWriter) -> None:
        if received.path == "/props" and not requested.is_set():
            requested.set()
            await go.wait()
        await talk(received, writer)

    return handle, requested, go


@asynccontextmanager
async def preparing(
    *answers: bytes, message: str
) -> AsyncGenerator[tuple[ChatScreen, Pilot[int], asyncio.Event]]:
    """A chat whose message is being prepared until an event is set, longer than keys are held back for it."""
    handle, requested, go = held_back(chatty(*answers))
    async with workbench(handle) as (app, pilot, _):
        await pilot.press("f12")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
        chat = screen_of(app)
        await pilot.press(*message, "f5")
        await until(pilot, lambda: requested.is_set() and chat.is_preparing and not app.flows.is_opening())
        yield chat, pilot, go


async def test_no_message_is_recalled_from_under_an_answer_that_is_being_prepared() -> None:
    handle, reached, go = held_back(chatty(answer("Hello"), answer("Bye")))
    async with workbench(handle) as (app, pilot, _):
        await pilot.press("f12")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
        chat = screen_of(app)
        chat.chat.rewrite(Turn(Role.USER, "Hi"), "Hi")
        chat.composer.text = "Go"
        await pilot.press("f5")
        await until(pilot, lambda: reached.is_set() and chat.is_preparing)
        chat.action_take_back()
        go.set()
        await until(pilot, lambda: len(chat.chat.path) == 3 and not chat.answering.is_running)
        assert [turn.text for turn in chat.chat.path] == ["Hi", "Go", "Hello"]


async def test_what_is_typed_while_a_message_is_prepared_stays() -> None:
    async with preparing(answer("Hello"), message="Go") as (chat, pilot, go):
        await pilot.press(*" on")
        go.set()
        await until(pilot, lambda: answered(chat))
        assert [turn.text for turn in chat.chat.path] == ["Go", "Hello"]
        assert chat.composer.text == " on"
        assert chat.focused is chat.composer


async def test_escape_stops_what_is_prepared_and_keeps_the_message() -> None:
    async with preparing(answer("Hello"), message="Go") as (chat, pilot, go):
        assert "Esc Stop" in chat.keys.render().plain
        await pilot.press("escape")
        await until(pilot, lambda: not chat.is_preparing)
        assert pilot.app.screen is chat
        assert (chat.composer.text, chat.chat.path) == ("Go", ())
        go.set()
        await pilot.press("f5")
        await until(pilot, lambda: answered(chat))
        assert [turn.text for turn in chat.chat.path] == ["Go", "Hello"]


async def test_what_is_prepared_is_not_sent_once_its_prompt_goes_to_the_editor() -> None:
    async with preparing(message="Go") as (chat, pilot, go):
        app = chat.app
        assert isinstance(app, WorkbenchApp)
        await pilot.press("f9")
        await until(pilot, lambda: not chat.is_preparing)
        go.set()
        await until(pilot, lambda: app.screen is app.main)
        assert app.main.prompt.text == "<user>Go<assistant>"
        assert (chat.chat.path, app.main.output.error.text) == ((), "")
