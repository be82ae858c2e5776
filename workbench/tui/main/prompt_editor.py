"""The prompt's editor: every character as it was typed or pasted, in any of the four kinds of prompt."""

from __future__ import annotations

from textual import events, on
from textual.actions import SkipAction
from textual.content import Content
from textual.document._document import EditResult
from textual.document._edit import Edit
from textual.message import Message
from textual.widgets import TextArea

from workbench.domain.display import one_line
from workbench.domain.errors import BadValueError
from workbench.domain.prompt import (
    PromptKind,
    TextPrompt,
    prompt_from_editor,
    single_prompts,
)
from workbench.tui.editor.inputs import ExactTextArea
from workbench.tui.tokenizing import PromptSize
from workbench.workspace.undo_history import ReplaceText, end_of
from workbench.workspace.workspace import Workspace

_LOOK_AT = 200_000
"""Characters up to which a prompt is checked at every key."""


class PromptEditor(ExactTextArea):
    """A text area that keeps every character, and says what is wrong with the prompt in its frame."""

    DEFAULT_CSS = """
    PromptEditor { padding: 0 1; border-subtitle-align: right; }
    """

    class CurlPasted(Message):
        """A curl command was pasted, and stands in the prompt as text."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, workspace: Workspace, *, id: str | None = None, classes: str | None = None) -> None:
        """`workspace` holds the prompt, and receives every change of it that is made here."""
        self._workspace = workspace
        self._counted: PromptSize | None = None
        super().__init__(id=id, classes=classes, tab_behavior="focus", soft_wrap=True)
        self.border_title = Content("Prompt")

    # --- the prompt --------------------------------------------------------------------------------------

    def edit(self, edit: Edit) -> EditResult:
        """Change the text, and take that to the history of the whole window."""
        result = super().edit(edit)
        self.history.clear()
        self._workspace.drafting.typed(edit.top, edit.bottom, edit.text)
        return result

    def show_change(self, change: ReplaceText) -> None:
        """Show a change that the prompt has had already."""
        end = end_of(change.start, change.removed)
        super().edit(Edit(change.inserted, change.start, end, maintain_selection_offset=False))
        self.move_cursor(end_of(change.start, change.inserted))

    def show_prompt(self) -> None:
        """Show another prompt from its end."""
        self.load_text(self._workspace.drafting.text)
        self.move_cursor(self.document.end)
        self.describe()

    def set_size(self, size: PromptSize | None) -> None:
        """Show how many tokens the prompt is, and whether they fit; None where the endpoint cannot tell."""
        self._counted = size
        self.describe()

    def action_undo(self) -> None:
        """Leave the key to the window, whose history has what was typed here too."""
        raise SkipAction

    def action_redo(self) -> None:
        """Leave the key to the window."""
        raise SkipAction

    @on(events.Paste)
    def _look_at_paste(self, event: events.Paste) -> None:
        if len(event.text) <= _LOOK_AT and event.text.lstrip().startswith("curl "):
            self.post_message(self.CurlPasted(event.text))

    # --- what the frame says -----------------------------------------------------------------------------

    @property
    def problem(self) -> str:
        """What is wrong with the prompt, in one line; empty where nothing is."""
        try:
            prompt = prompt_from_editor(self._workspace.drafting.kind, self.text)
        except BadValueError as problem:
            return problem.title
        for number, single in enumerate(single_prompts(prompt), 1):
            if isinstance(single, TextPrompt) and single.text.endswith((" ", "\t")):
                where = f" of text {number}" if self._workspace.drafting.kind is PromptKind.TEXTS else ""
                return f"trailing blank at the end{where}"
        return ""

    @on(TextArea.Changed)
    def _changed(self) -> None:
        self._counted = None
        self.describe()

    def describe(self) -> None:
        """Say in the frame what kind of prompt it is, what is wrong with it and how long it is."""
        kind = (
            "" if self._workspace.drafting.kind is PromptKind.TEXT else f" · {self._workspace.drafting.kind}"
        )
        self.border_title = Content(f"Prompt{kind}")
        problem = self.problem if len(self.text) <= _LOOK_AT else ""
        if self._counted is not None:
            sent = int(self._workspace.drafting.parameters.number("max_tokens", 16))
            problem = self._counted.problem(sent) or problem
        parts = [f"! {one_line(problem, 60)}"] if problem else []
        if self._counted is not None:
            parts.append(f"{self._counted.tokens:,} tok")
        self.set_class(bool(problem), "-problem")
        self.border_subtitle = Content(" · ".join(parts))
