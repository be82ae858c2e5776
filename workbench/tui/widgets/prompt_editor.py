"""The prompt's editor: every character as it was typed or pasted, in any of the four kinds of prompt."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events, on
from textual.actions import SkipAction
from textual.content import Content
from textual.message import Message
from textual.widgets import TextArea

from workbench.domain.display import one_line
from workbench.domain.errors import BadValueError
from workbench.domain.prompt import (
    Prompt,
    PromptKind,
    TextPrompt,
    TextsPrompt,
    kind_of,
    prompt_from_editor,
    prompt_to_editor,
    single_prompts,
)
from workbench.tui.widgets.exact_text_area import ExactTextArea

_LOOK_AT = 200_000
"""Characters up to which a prompt is checked at every key."""


class PromptEditor(ExactTextArea):
    """A text area that keeps every character, and says what is wrong with the prompt in its frame."""

    DEFAULT_CSS = """
    PromptEditor { padding: 0 1; border-subtitle-align: right; }
    """

    @dataclass
    class KindChanged(Message):
        """The prompt is made of something else now."""

        kind: PromptKind

    @dataclass
    class CurlPasted(Message):
        """A curl command was pasted, and stands in the prompt as text."""

        text: str

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        self._kind = PromptKind.TEXT
        self._tokens: int | None = None
        super().__init__(id=id, classes=classes, tab_behavior="focus", soft_wrap=True)
        self.border_title = Content("Prompt")

    # --- the prompt --------------------------------------------------------------------------------------

    @property
    def kind(self) -> PromptKind:
        """What the prompt is made of."""
        return self._kind

    @property
    def prompt(self) -> Prompt:
        """The prompt that the text means. Raises BadValueError that names the line at fault."""
        return prompt_from_editor(self._kind, self.text)

    def set_prompt(self, prompt: Prompt) -> None:
        """Show another prompt, of whatever kind; undo takes it back."""
        self._use_kind(kind_of(prompt))
        self.replace_all(prompt_to_editor(prompt))

    def put_back(self, kind: PromptKind, text: str) -> None:
        """Show a text as it stood here before, of the kind that it was."""
        self._use_kind(kind)
        self.replace_all(text)

    def set_kind(self, kind: PromptKind) -> None:
        """Read the text as another kind of prompt; the text of one prompt of texts is written anew."""
        if kind is self._kind:
            return
        text = self.text
        if self._kind is PromptKind.TEXT and kind is PromptKind.TEXTS:
            text = prompt_to_editor(TextsPrompt((text,)))
        elif self._kind is PromptKind.TEXTS and kind is PromptKind.TEXT:
            texts = single_prompts(self.prompt)
            if len(texts) == 1:
                text = prompt_to_editor(texts[0])
        self._use_kind(kind)
        if text != self.text:
            self.replace_all(text)

    def set_token_count(self, count: int | None) -> None:
        """Show how many tokens the endpoint's tokenizer makes of the prompt; None where it cannot tell."""
        self._tokens = count
        self._describe()

    def _use_kind(self, kind: PromptKind) -> None:
        if kind is not self._kind:
            self._kind = kind
            self.post_message(self.KindChanged(kind))
        self._describe()

    def replace_all(self, text: str) -> None:
        """Put another text in place, which can be undone."""
        if text == self.text:
            return
        self.history.checkpoint()
        self.replace(text, self.document.start, self.document.end, maintain_selection_offset=False)
        self.history.checkpoint()
        self.move_cursor(self.document.end)

    def action_undo(self) -> None:
        """Take back what was typed; where nothing was, the key is the session's."""
        if not self.history.undo_stack:
            raise SkipAction
        self.undo()

    def action_redo(self) -> None:
        """Type again what was taken back; where nothing was, the key is the session's."""
        if not self.history.redo_stack:
            raise SkipAction
        self.redo()

    @on(events.Paste)
    def _look_at_paste(self, event: events.Paste) -> None:
        if len(event.text) <= _LOOK_AT and event.text.lstrip().startswith("curl "):
            self.post_message(self.CurlPasted(event.text))

    # --- what the frame says -----------------------------------------------------------------------------

    @property
    def problem(self) -> str:
        """What is wrong with the prompt, in one line; empty where nothing is."""
        try:
            prompt = self.prompt
        except BadValueError as problem:
            return problem.title
        for number, one in enumerate(single_prompts(prompt), 1):
            if isinstance(one, TextPrompt) and one.text.endswith((" ", "\t")):
                where = f" of text {number}" if self._kind is PromptKind.TEXTS else ""
                return f"trailing blank at the end{where}"
        return ""

    @on(TextArea.Changed)
    def _changed(self) -> None:
        self._tokens = None
        self._describe()

    def _describe(self) -> None:
        kind = "" if self._kind is PromptKind.TEXT else f" · {self._kind}"
        self.border_title = Content(f"Prompt{kind}")
        problem = self.problem if len(self.text) <= _LOOK_AT else ""
        parts = [f"! {one_line(problem, 60)}"] if problem else []
        if self._tokens is not None:
            parts.append(f"{self._tokens:,} tok")
        self.set_class(bool(problem), "-problem")
        self.border_subtitle = Content(" · ".join(parts))
