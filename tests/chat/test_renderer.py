"""Templates of strangers, in a process of their own."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator

import psutil
import pytest

from workbench.chat.builtin_templates import CHATML
from workbench.chat.jinja_sandbox import Limits
from workbench.chat.jinja_template import ChatRenderer, JinjaTemplate
from workbench.domain.conversation import Conversation, Message, Role
from workbench.domain.errors import TemplateError

pytestmark = pytest.mark.slow

_GREETING = Conversation((Message(Role.USER, "Hi"),))


def _conversation_of(text: str) -> Conversation:
    return Conversation((Message(Role.USER, text),))


_GOOD = JinjaTemplate(
    "good", "{% for m in messages %}[{{ m.role }}]{{ m.content | trim }}<|end|>{% endfor %}"
)
_LOOP = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


@pytest.fixture
async def renderer() -> AsyncIterator[ChatRenderer]:
    """A renderer that is quick to lose patience."""
    created = ChatRenderer(Limits(seconds=1.0, characters=100_000))
    yield created
    await created.aclose()


async def refusal(renderer: ChatRenderer, source: str) -> TemplateError:
    """The error that a template ends in."""
    with pytest.raises(TemplateError) as caught:
        await renderer.render(JinjaTemplate("hostile", source), _GREETING)
    return caught.value


@pytest.mark.parametrize("source", [_LOOP, "{{ 9 ** (9 ** 9) }}"], ids=["loop", "power"])
async def test_an_endless_template_is_ended_and_the_next_one_renders(
    renderer: ChatRenderer, source: str
) -> None:
    error = await refusal(renderer, source)
    assert error.title == "The template did not finish within 1 s"
    assert "loops forever" in error.hint
    assert renderer.pid is None
    assert (await renderer.render(_GOOD, _GREETING)).prompt == "[user]Hi<|end|>"


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__ }}",
        "{{ ''['__class__'] }}",
        "{{ ''|attr('__class__') }}",
        "{{ messages.__init__.__globals__ }}",
        "{{ cycler.__init__.__globals__.os }}",
        "{{ self.__init__ }}",
        "{{ raise_exception.__globals__ }}",
        "{{ '{0.__class__}'.format(1) }}",
        "{{ messages.append(1) }}",
        "{{ namespace(__class__=1) }}",
        "{% set ns = namespace() %}{% set ns.__class__ = 1 %}",
    ],
)
async def test_reaching_into_python_is_forbidden(renderer: ChatRenderer, source: str) -> None:
    error = await refusal(renderer, source)
    assert error.title == "The template accessed something forbidden"
    assert error.message.startswith("Line 1: ")


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("{% for i in range(9999) %}0123456789012{% endfor %}", "The template's output is too long"),
        ("{{ 'a' * 200000 }}", "The template's output is too long"),
        ("{{ 'a' * 10 ** 10 }}", "The template used too much memory"),
        ("{{ '%0999999999d' | format(1) }}", "The template used too much memory"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "The template failed"),
        ("{{ range(10 ** 9) }}", "The template failed"),
        ("{{ 1 / 0 }}", "The template failed"),
        ("{% include '/etc/passwd' %}", "The template failed"),
        ("{{ " + "(" * 100_000 + " }}", "The template failed"),
    ],
    ids=["many pieces", "one piece", "memory", "format", "recursion", "range", "zero", "include", "nesting"],
)
async def test_what_goes_too_far_ends_in_a_clear_error(
    renderer: ChatRenderer, source: str, title: str
) -> None:
    error = await refusal(renderer, source)
    assert error.title == title
    assert error.message


async def test_a_mistake_is_named_with_its_line(renderer: ChatRenderer) -> None:
    error = await refusal(renderer, "one\ntwo\n{% if %}")
    assert error.title == "The template is not valid"
    assert error.message.startswith("Line 3: Expected an expression")
    error = await refusal(renderer, "one\n{{ nothing.at.all }}")
    assert error.title == "The template uses an undefined name"
    assert error.message == "Line 2: 'nothing' is undefined"


async def test_a_template_s_own_refusal_is_shown_without_its_control_characters(
    renderer: ChatRenderer,
) -> None:
    error = await refusal(renderer, "{{ raise_exception('no \x1b[31mred\x07') }}")
    assert error.title == "The template refused the conversation"
    assert error.message == "Line 1: no \\e[31mred\\a"


async def test_the_process_knows_no_keys_and_can_neither_write_nor_start_anything(
    renderer: ChatRenderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    await renderer.render(_GOOD, _GREETING)
    assert renderer.pid is not None
    process = psutil.Process(renderer.pid)
    assert "SOME_API_KEY" not in process.environ()
    assert process.rlimit(psutil.RLIMIT_FSIZE) == (0, 0)
    assert process.rlimit(psutil.RLIMIT_NPROC) == (0, 0)
    assert process.rlimit(psutil.RLIMIT_AS)[0] == Limits().memory


async def test_one_process_serves_all_templates_and_ends_with_the_renderer() -> None:
    renderer = ChatRenderer()
    assert renderer.pid is None
    await renderer.render(CHATML, _GREETING)
    assert renderer.pid is None, "a built-in template needs no process"
    await renderer.render(_GOOD, _GREETING)
    pid = renderer.pid
    assert pid is not None
    await renderer.render(JinjaTemplate("other", "{{ messages[0].content }}"), _GREETING)
    assert renderer.pid == pid
    await renderer.aclose()
    assert renderer.pid is None
    assert not psutil.pid_exists(pid)


async def test_a_cancelled_preview_does_not_disturb_the_next(renderer: ChatRenderer) -> None:
    await renderer.render(_GOOD, _GREETING)
    pid = renderer.pid
    for text in ("a", "ab", "abc"):
        preview = asyncio.create_task(renderer.render(_GOOD, _conversation_of(text)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        preview.cancel()
        with pytest.raises(asyncio.CancelledError):
            await preview
    assert (await renderer.render(_GOOD, _conversation_of("abcd"))).prompt == "[user]abcd<|end|>"
    assert renderer.pid == pid


async def test_closing_in_the_middle_of_a_loop_ends_the_process(renderer: ChatRenderer) -> None:
    await renderer.render(_GOOD, _GREETING)
    pid = renderer.pid
    assert pid is not None
    looping = asyncio.create_task(renderer.render(JinjaTemplate("loop", _LOOP), _GREETING))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await renderer.aclose()
    with pytest.raises(TemplateError):
        await looping
    assert not psutil.pid_exists(pid)


async def test_a_process_that_died_is_replaced(renderer: ChatRenderer) -> None:
    await renderer.render(_GOOD, _GREETING)
    assert renderer.pid is not None
    os.kill(renderer.pid, signal.SIGKILL)
    while renderer.pid is not None:  # noqa: ASYNC110 - the loop learns of a death in its own time
        await asyncio.sleep(0.01)
    assert (await renderer.render(_GOOD, _GREETING)).prompt == "[user]Hi<|end|>"


async def test_stop_sequences_come_from_the_template_and_its_tokenizer(renderer: ChatRenderer) -> None:
    template = JinjaTemplate("t", _GOOD.source, eos="</s>", stop=("\n\n",))
    assert (await renderer.render(template, _GREETING)).stop == ("<|end|>", "</s>", "\n\n")
    silent = JinjaTemplate("t", "{{ messages[0].content }}")
    assert (await renderer.render(silent, _GREETING)).stop == ()


async def test_a_prefill_keeps_its_blanks_under_a_template_that_strips(renderer: ChatRenderer) -> None:
    prompt = (await renderer.render(_GOOD, Conversation(_GREETING.messages, prefill="Well, \n"))).prompt
    assert prompt == "[user]Hi<|end|>[assistant]Well, \n"


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages[0].content ~ messages[-1].content | upper }}",
        "{% for m in messages * 2 %}{{ m.content }}{% endfor %}",
    ],
)
async def test_a_template_that_changes_or_repeats_an_answer_cannot_continue_one(
    renderer: ChatRenderer, source: str
) -> None:
    with pytest.raises(TemplateError, match="cannot continue an answer"):
        await renderer.render(JinjaTemplate("t", source), Conversation(_GREETING.messages, prefill="Well"))


async def test_the_begin_of_text_token_is_known_where_the_template_writes_it(renderer: ChatRenderer) -> None:
    template = JinjaTemplate("t", "{{ bos_token }}{{ messages[0].content }}", bos="<s>")
    rendered = await renderer.render(template, _GREETING)
    assert (rendered.prompt, rendered.bos, rendered.without_bos().prompt) == ("<s>Hi", "<s>", "Hi")


async def test_texts_of_every_kind_pass_unharmed(renderer: ChatRenderer) -> None:
    text = "".join(map(chr, [*range(32, 0x250), 0, 10, 13, 0x2028, 0xD800, 0xFFFF, 0x1F600]))
    template = JinjaTemplate("t", "{{ messages[0].content }}")
    assert (await renderer.render(template, _conversation_of(text))).prompt == text


async def test_the_tools_of_templates_are_there(renderer: ChatRenderer) -> None:
    source = "{{ strftime_now('%Y') | length }} {{ tools is none }} {{ documents is none }} {{ mood }} "
    template = JinjaTemplate("t", source + "{{ messages[0].content }}", variables={"mood": "calm"})
    assert (await renderer.render(template, _GREETING)).prompt == "4 True True calm Hi"


async def test_special_tokens_are_those_of_the_tokenizer_and_those_that_the_template_spells_out(
    renderer: ChatRenderer,
) -> None:
    source = "<start_of_turn>{{ '<|' ~ messages[0].role ~ '|>' }}{{ messages[0].content }}[X]{{ eos_token }}"
    template = JinjaTemplate("t", source, eos="<e>", specials=("[X]",))
    rendered = await renderer.render(template, _conversation_of("<s>no</s>[X]"))
    marked = [(rendered.prompt[span.start : span.end], span.injected) for span in rendered.specials]
    assert marked == [
        ("<start_of_turn>", False),
        ("<|user|>", False),
        ("[X]", True),
        ("[X]", False),
        ("<e>", False),
    ]


_LONGER = Conversation(
    (Message(Role.USER, "Name a lake"), Message(Role.ASSISTANT, " Chad "), Message(Role.USER, "user")),
)
_PARTS = [
    "{{ m.content | map(attribute='text') | join }}",
    "{% for c in m.content | selectattr('type', 'equalto', 'text') %}{{ c.text }}{% endfor %}",
    "{{ m['content'][0]['text'] }}",
    "{{ m.content[0].text.strip() }}",
    "{% if m.content is string %}{{ raise_exception('a list, please') }}{% endif %}{{ m.content[0].text }}",
    "{% if m.content is string %}(text){% else %}{{ m.content[0].text }}{% endif %}",
]


@pytest.mark.parametrize("source", _PARTS)
async def test_a_template_that_wants_parts_gets_them(renderer: ChatRenderer, source: str) -> None:
    template = JinjaTemplate(
        "t",
        f"{{% for m in messages %}}<{{{{ m.role }}}}>{source}<|e|>{{% endfor %}}"
        "{% if add_generation_prompt %}<assistant>{% endif %}",
    )
    rendered = await renderer.render(template, _LONGER)
    written = "".join(rendered.prompt.split())
    assert written == "<user>Namealake<|e|><assistant>Chad<|e|><user>user<|e|><assistant>"
    assert rendered.stop == ("<|e|>",)
    prefilled = await renderer.render(template, Conversation(_GREETING.messages, prefill="Well, "))
    assert prefilled.prompt == "<user>Hi<|e|><assistant>Well, "


@pytest.mark.parametrize(
    ("shown", "lost"),
    [
        ("{{ m.contents }}", "the text of the user"),
        ("{{ m.value }}", "the text of the user"),
        ("{% if m.role == 'user' %}{{ m.content }}{% endif %}", "the text of the assistant"),
        ("{% if loop.last %}{{ m.content }}{% endif %}", "the text of the user"),
        ("{{ m.content[:4] }}", "the text of the user"),
    ],
)
async def test_a_template_that_loses_what_was_said_is_refused(
    renderer: ChatRenderer, shown: str, lost: str
) -> None:
    template = JinjaTemplate("t", f"{{% for m in messages %}}<{{{{ m.role }}}}>{shown}{{% endfor %}}")
    with pytest.raises(TemplateError, match=f"The template leaves out {lost}"):
        await renderer.render(template, _LONGER)


async def test_a_template_that_loses_the_system_prompt_is_refused_where_there_is_one(
    renderer: ChatRenderer,
) -> None:
    source = "{% for m in messages if m.role != 'system' %}[{{ m.content }}]{% endfor %}"
    template = JinjaTemplate("t", source)
    with pytest.raises(TemplateError, match="leaves out the system prompt"):
        await renderer.render(template, Conversation(_GREETING.messages, "Be brief."))
    assert (await renderer.render(template, _GREETING)).prompt == "[Hi]"


async def test_a_template_may_leave_out_what_a_model_thought_and_trim_texts(renderer: ChatRenderer) -> None:
    source = "{% for m in messages %}[{{ m.content.split('</think>')[-1] | trim | upper }}]{% endfor %}"
    thought = Message(Role.ASSISTANT, "<think>a lake</think> Chad ")
    conversation = Conversation((Message(Role.USER, " Name one\n"), thought, Message(Role.USER, "")))
    assert (await renderer.render(JinjaTemplate("t", source), conversation)).prompt == "[NAME ONE][CHAD][]"


async def test_a_process_that_cannot_be_started_is_an_error(
    renderer: ChatRenderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    failure = await refusal(renderer, "x")
    assert failure.title == "The process that renders templates did not start"
    assert failure.message == "/nowhere/python: No such file or directory"
    monkeypatch.undo()
    assert (
        await renderer.render(JinjaTemplate("t", "x{{ messages[0].content }}"), _conversation_of("y"))
    ).prompt == "xy"
