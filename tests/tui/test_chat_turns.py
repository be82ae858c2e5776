"""Turns on the chat screen: branches, editing, deleting with undo, going on, and what is left out."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

from textual.pilot import Pilot

from tests.client.loopback import Loopback
from tests.tui.scripted import FOUR_PRESETS, answer, until, workbench
from tests.tui.test_chat import chatty, screen_of
from workbench.domain.conversation import Turn, WhenFull
from workbench.runner.compare_plan import SavedRun, saved_column
from workbench.storage.session_file import read_runs
from workbench.tui.chat.screen import ChatScreen
from workbench.tui.popups.multi_picker import MultiPicker
from workbench.tui.replay.screen import ReplayScreen
from workbench.workspace.notifications import SettingsChanged


class Talk:
    """A conversation on the screen, driven by keys."""

    def __init__(self, chat: ChatScreen, pilot: Pilot[int], loopback: Loopback) -> None:
        self.chat, self.pilot, self.loopback = chat, pilot, loopback

    async def say(self, text: str) -> None:
        self.chat.composer.text = text
        await self.press("f5")

    async def press(self, *keys: str) -> None:
        """Press keys, and wait for the answer that they ask for."""
        await self.pilot.press(*keys)
        await until(self.pilot, lambda: not self.chat.answering.is_running and not self.chat.is_preparing)

    @property
    def texts(self) -> list[str]:
        return [turn.text for turn in self.chat.chat.path]

    @property
    def sent(self) -> list[str]:
        bodies = [request.json for request in self.loopback.requests if request.path.endswith("completions")]
        return [str(body["prompt"]) for body in bodies if isinstance(body, dict)]

    def section(self, index: int) -> str:
        section = self.chat.turns.view.sections[index]
        return f"{section.title}|{section.prompt}"


@asynccontextmanager
async def talking(*answers: bytes, size: tuple[int, int] = (120, 40)) -> AsyncGenerator[Talk]:
    async with workbench(chatty(*answers), size) as (app, pilot, loopback):
        await pilot.press("f12")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
        yield Talk(screen_of(app), pilot, loopback)


async def test_an_edited_turn_is_a_branch_and_the_one_before_it_is_a_key_away() -> None:
    async with talking(answer("A"), answer("B"), answer("C")) as talk:
        await talk.say("one")
        await talk.say("two")
        talk.chat.composer.text = "half typed"
        await talk.press("f4", "k", "k", "k", "k", "e")
        assert talk.chat.composer.text == "one"
        assert "Edit turn 1" in str(talk.chat.composer.border_title)
        await talk.say("uno")
        assert talk.texts == ["uno", "C"]
        assert talk.chat.composer.text == "half typed"
        assert talk.sent[-1] == "<user>uno<assistant>"
        assert "branch 2/2" in talk.section(0)
        await talk.press("k", "k", "less_than_sign")
        assert talk.texts == ["one", "A", "two", "B"]
        assert "▸─ 1 › user · branch 1/2" in talk.section(0)
        assert "── 2 ◆ assistant" in talk.section(1)
        # The turn that keys work on stands out by its whole title, one that a person wrote by a bold one.
        assert [section.emphasis for section in talk.chat.turns.view.sections][:2] == ["current", "none"]
        frame = str(talk.chat.composer.border_subtitle)
        assert frame == "Ctrl+J sends · Enter starts a new line"


async def test_an_edited_turn_is_sent_in_its_place_though_another_branch_is_shown_meanwhile() -> None:
    async with talking(*[answer(text) for text in "ABCD"]) as talk:
        await talk.say("one")
        await talk.say("two")
        await talk.press("f4", "k", "k", "k", "k", "e")
        await talk.say("uno")
        await talk.press("k", "k", "less_than_sign")
        assert talk.texts == ["one", "A", "two", "B"]
        await talk.press("j", "j", "e", "f4", "k", "k", "greater_than_sign")
        assert talk.texts == ["uno", "C"]
        assert "Edit turn 3" in str(talk.chat.composer.border_title)
        await talk.press("f2", "!", "f5")
        assert talk.texts == ["one", "A", "two!", "D"]
        assert talk.sent[-1] == "<user>one<assistant>A<user>two!<assistant>"


async def test_an_edited_turn_is_sent_in_its_place_though_it_was_undone_meanwhile() -> None:
    async with talking(*[answer(text) for text in "ABC"]) as talk:
        await talk.say("one")
        await talk.say("two")
        await talk.press("f4", "k", "k", "e", "f4", "u")
        assert talk.texts == ["one", "A"]
        await talk.press("f2", "!", "f5")
        assert talk.texts == ["one", "A", "two!", "C"]
        assert talk.sent[-1] == "<user>one<assistant>A<user>two!<assistant>"


async def test_a_deleted_turn_comes_back_and_another_answer_stands_beside_the_first() -> None:
    async with talking(answer("A"), answer("B")) as talk:
        await talk.say("one")
        await talk.press("f4", "r")
        assert talk.texts == ["one", "B"]
        await talk.press("d")
        assert talk.texts == ["one", "A"]
        await talk.press("u")
        assert talk.texts == ["one", "B"]
        await talk.press("u", "U", "u")
        assert talk.texts == ["one", "A"]
        await talk.press("u")
        assert talk.texts == []
        await talk.press("U", "U")
        assert talk.texts == ["one", "B"]
        assert len(talk.chat.chat.workspace.session.runs) == 2


async def test_nothing_is_left_in_the_inspector_of_a_token_whose_turn_is_gone() -> None:
    async with talking(answer("Once", " upon")) as talk:
        await talk.say("Tell")
        await talk.press("f4", "right")
        turns = talk.chat.turns
        await until(talk.pilot, lambda: "Once" in str(turns.inspector.body.render()))
        await talk.press("d")
        await until(
            talk.pilot, lambda: "Once" not in f"{turns.inspector.body.render()}{turns.strip.render()}"
        )


async def test_a_cut_answer_goes_on_and_a_token_branches() -> None:
    async with talking(answer("Once", " upon"), answer(" a time"), answer(" then")) as talk:
        await talk.say("Tell")
        await talk.press("f4", "enter")
        assert talk.sent[-1] == "<user>Tell<assistant>Once upon"
        assert talk.texts == ["Tell", "Once upon a time"]
        assert [section.title for section in talk.chat.turns.view.sections][-1] == "   continued"
        await talk.press("less_than_sign", "end", "2")
        assert talk.sent[-1] == "<user>Tell<assistant>Once other"
        assert talk.texts == ["Tell", "Once other then"]
        run = talk.chat.chat.run_of(talk.chat.chat.path[-1])
        assert run is not None
        assert run.parent is not None
        assert (run.parent.token, run.parent.alternative) == (1, " other")


async def test_the_replay_of_an_answer_is_headed_by_its_turn() -> None:
    async with talking(answer("Once")) as talk:
        await talk.say("Tell")
        await talk.press("f4", "p")
        app = talk.chat.app
        await until(talk.pilot, lambda: isinstance(app.screen, ReplayScreen))
        await until(talk.pilot, lambda: "Replay  turn 2 · " in str(app.screen.query_one("#about").render()))


async def test_the_answer_begins_as_written_and_what_does_not_fit_is_left_out_and_said() -> None:
    async with talking(answer("A"), answer("B"), answer("C")) as talk:
        await talk.say("one" * 40)
        talk.chat.chat.configure("", talk.chat.chat.chat._replace(context=60, when_full=WhenFull.DROP_OLDEST))
        talk.chat.chat.draft = talk.chat.chat.draft._replace(
            parameters=talk.chat.chat.draft.parameters.set("max_tokens", 16)
        )
        talk.chat.chat.prefill = "So"
        await talk.say("two")
        assert talk.sent[-1] == "<user>two<assistant>So"
        assert talk.texts[-1] == "SoB"
        assert "left out of the next prompt" in talk.section(0)
        assert "turns 1 to 2 left out to fit the context" in talk.chat.turns.view.sections[-1].figures
        assert talk.chat.chat.prefill == ""


async def test_variables_are_filled_in_and_one_without_a_value_is_not_sent() -> None:
    async with talking(answer("A")) as talk:
        await talk.press("f10", "tab", *"NAME=x", "enter")
        assert talk.chat.chat.variables == {"NAME": "x"}
        talk.chat.composer.text = "{{place}}"
        await talk.press("f10", "tab", *"home", "enter")
        assert talk.chat.chat.variables == {"place": "home", "NAME": "x"}
        await talk.say("{{place}} {{time}}")
        await until(talk.pilot, lambda: talk.chat.has_class("-failed"))
        assert talk.sent == []
        await talk.say("{{place}}")
        assert talk.sent == ["<user>home<assistant>"]
        assert talk.texts[0] == "{{place}}"


async def test_turns_fold_and_another_windows_size_keeps_them() -> None:
    async with talking(answer("A"), size=(80, 24)) as talk:
        await talk.say("one\ntwo")
        await talk.press("f4", "k", "k", "space")
        assert talk.section(0) == "▸─ 1 › user  one two|"
        await talk.press("space", "slash", "A", "enter")
        assert talk.chat.turns.view.cursor is not None
        await talk.pilot.click(talk.chat.turns.view, offset=(3, 1))
        await until(talk.pilot, lambda: talk.chat.turns.current == 0)
        await talk.press("f")
        assert all(not section.prompt for section in talk.chat.turns.view.sections)
        await talk.press("ctrl+g", "enter", "i")
        assert talk.chat.turns.has_class("-inspecting")


async def test_what_is_typed_and_what_a_crash_cut_off_are_there_again() -> None:
    async with workbench(chatty(answer("Hello"))) as (app, pilot, _):
        await pilot.press("f12")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
        talk = Talk(screen_of(app), pilot, _)
        await talk.say("Hi")
        run = talk.chat.chat.path[-1].run
        await pilot.press(*"typed", "escape")
        await until(pilot, lambda: app.screen is app.main)
        # As a crash leaves it: the run was recovered, the turn has no text yet.
        chat = app.workspace.keeper.session.chat
        app.workspace.keeper.keep_chat(
            chat._replace(turns=chat.turns.changed(replace(chat.turns.path()[-1], text="")))
        )
        await pilot.press("f12")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
        again = screen_of(app)
        assert again.composer.text == "typed"
        assert again.chat.path[-1] == Turn(
            "assistant", "Hello", again.chat.path[-1].id, run, parent=again.chat.path[0].id
        )


async def test_presets_answer_at_one_place_and_each_answer_is_a_branch() -> None:
    async with talking(answer("A"), *[answer(text) for text in "BCDE"]) as talk:
        app = talk.chat.app
        await talk.say("one")
        await talk.press("f4", "f8")
        await until(talk.pilot, lambda: isinstance(app.screen, MultiPicker))
        await talk.pilot.press(*FOUR_PRESETS, "enter")
        await until(talk.pilot, lambda: len(talk.chat.chat.chat.turns.all) == 6)
        assert set(talk.sent) == {"<user>one<assistant>"}
        await talk.pilot.press("escape")
        await until(talk.pilot, lambda: app.screen is talk.chat)
        assert "branch 5/5" in talk.section(1)


async def test_the_conversation_goes_on_with_the_settings_of_the_column_adopted_until_that_is_undone() -> (
    None
):
    async with talking(*[answer(text) for text in "ABCDEFG"]) as talk:
        app = talk.chat.app

        def temperature() -> object:
            body = talk.loopback.requests[-1].json
            return body.get("temperature") if isinstance(body, dict) else body

        await talk.say("one")
        await talk.press("f4", "f8")
        await until(talk.pilot, lambda: isinstance(app.screen, MultiPicker))
        await talk.pilot.press(*FOUR_PRESETS, "enter")
        await until(talk.pilot, lambda: len(talk.chat.chat.chat.turns.all) == 6)
        await talk.pilot.press("a")
        await until(talk.pilot, lambda: app.screen is talk.chat)
        await talk.press("f2")
        await talk.say("two")
        assert temperature() == 0
        await talk.press("f4", "u", "u", "f2")
        await talk.say("three")
        assert temperature() is None


async def test_the_templates_stop_is_sent_but_never_adopted_as_the_persons_own() -> None:
    async with talking(*[answer(text) for text in "ABCDEF"]) as talk:
        app, chat, workspace = talk.chat.app, talk.chat.chat, talk.chat.chat.workspace
        chat.configure("the template", chat.chat._replace(template="chatml"))
        workspace.drafting.parameters_typed(workspace.drafting.parameters.set("seed", 3))
        chat.note_settings(SettingsChanged())
        await talk.say("one")
        await talk.press("f4", "r")
        await talk.press("f8")
        await until(talk.pilot, lambda: isinstance(app.screen, MultiPicker))
        await talk.pilot.press(*FOUR_PRESETS, "enter")
        await until(talk.pilot, lambda: len(chat.chat.turns.all) == 7)
        await talk.pilot.press("a")
        await until(talk.pilot, lambda: app.screen is talk.chat)
        bodies = [request.json for request in talk.loopback.requests if request.path.endswith("completions")]
        assert [body["stop"] for body in bodies if isinstance(body, dict)] == [["<|im_end|>"]] * 6
        drafting = workspace.drafting
        assert (drafting.parameters.get("stop"), drafting.parameters.get("seed")) == (None, 3)
        assert await workspace.save_as("talk")
        path = workspace.keeper.path
        assert path is not None
        # Also from the session's file, where the runs are saved with what was sent.
        runs = read_runs(path)
        columns = [saved_column(SavedRun("run", run), workspace.services.endpoints) for run in runs]
        assert [run.request.parameters.get("stop") for run in runs] == [("<|im_end|>",)] * 6
        assert [column.parameters.get("stop") for column in columns] == [None] * 6
        # The second was regenerated under a seed of its own.
        assert [column.parameters.get("seed") for column in columns] == [3, None, 3, 3, 3, 3]
