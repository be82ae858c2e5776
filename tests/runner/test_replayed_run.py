"""A recorded run plays again."""

from __future__ import annotations

import asyncio
from math import inf

from tests.domain.builders import choice_of, run_of, token_of
from workbench.domain.run import Outcome
from workbench.runner.replayed_run import Replay


async def test_a_replay_ends_equal_to_what_was_recorded() -> None:
    recorded = run_of(choice_of([token_of("a", 0.5, b=0.4), token_of("c", 0.9)], 0), choice_of(["x"], 1))
    replay = Replay(recorded, speed=inf)
    await replay.play()
    assert replay.run.outcome is Outcome.COMPLETE
    for index, choice in recorded.choices.items():
        again = replay.run.choices[index]
        assert list(again) == list(choice)
        assert again.finish_reason == choice.finish_reason


async def test_the_pace_is_the_recorded_one() -> None:
    replay = Replay(run_of(choice_of(["a", "b", "c"])), speed=1)
    clock = asyncio.get_running_loop().time
    started = clock()
    await replay.play()
    assert clock() - started >= 0.3


def test_steps_show_choices_in_the_order_in_which_they_came() -> None:
    replay = Replay(run_of(choice_of(["a", "b"], 0), choice_of(["x"], 1)))
    assert replay.step()
    assert (replay.run.choice(0).text, replay.progress) == ("a", (1, 3))
    assert replay.step()
    assert replay.run.choice(1).text == "x"
    assert replay.run.is_running
    assert replay.step()
    assert replay.is_over
    assert not replay.step()


async def test_a_paused_replay_waits() -> None:
    replay = Replay(run_of(choice_of(["a", "b"])), speed=inf)
    replay.pause()
    playing = asyncio.create_task(replay.play())
    await asyncio.sleep(0)
    assert replay.progress == (0, 2)
    replay.resume()
    await playing
    assert replay.is_over
