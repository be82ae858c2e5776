"""The editor of the prompt, for all four kinds of prompt."""

from __future__ import annotations

from textual import events, on
from textual.actions import SkipAction
from textual.content import Content
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult

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
"""The most characters of a prompt that is checked at every key."""


class PromptEditor(ExactTextArea):
    """A text area for the prompt, which shows its problems and its size in the border."""

    DEFAULT_CSS = """
    PromptEditor { padding: 0 1; border-subtitle-align: right; }
    """

    class CurlPasted(Message):
        """A curl command was pasted as text."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, workspace: Workspace, *, id: str | None = None, classes: str | None = None) -> None:
        """`workspace` holds the prompt, and receives every change made here."""
        self._workspace = workspace
        self._counted: PromptSize | None = None
        super().__init__(id=id, classes=classes, tab_behavior="focus", soft_wrap=True)
        self.border_title = Content("Prompt")

    # --- the prompt --------------------------------------------------------------------------------------

    def edit(self, edit: Edit) -> EditResult:
        """Apply an edit, and report it to the workspace, which keeps the undo history."""
        result = super().edit(edit)
        self.history.clear()
        self._workspace.drafting.typed(edit.top, edit.bottom, edit.text)
        return result

    def show_change(self, change: ReplaceText) -> None:
        """Show a change that the workspace made to the prompt."""
        end = end_of(change.start, change.removed)
        super().edit(Edit(change.inserted, change.start, end, maintain_selection_offset=False))
        self.move_cursor(end_of(change.start, change.inserted))

    def show_prompt(self) -> None:
        """Show the prompt of the workspace, with the cursor at its end."""
        self.load_text(self._workspace.drafting.text)
        self.move_cursor(self.document.end)
        self.describe()

    def set_size(self, size: PromptSize | None) -> None:
        """Show the size of the prompt and whether it fits; None if the size is unknown."""
        self._counted = size
        self.describe()

    def action_undo(self) -> None:
        """Pass the key on: the undo history is the workspace's."""
        raise SkipAction

    def action_redo(self) -> None:
        """Pass the key on: the undo history is the workspace's."""
        raise SkipAction

    @on(events.Paste)
    def _look_at_paste(self, event: events.Paste) -> None:
        if len(event.text) <= _LOOK_AT and event.text.lstrip().startswith("curl "):
            self.post_message(self.CurlPasted(event.text))

    # --- the border --------------------------------------------------------------------------------------

    @property
    def problem(self) -> str:
        """The first problem of the prompt, in one line; empty if it has none."""
        try:
            prompt = prompt_from_editor(self._workspace.drafting.kind, self.text)
        except BadValueError as problem:
            return problem.title
        for number, single in enumerate(single_prompts(prompt), 1):
            if isinstance(single, TextPrompt) and single.text.endswith((" ", "\t")):
                where = f" of text {number}" if self._workspace.drafting.kind is PromptKind.TEXTS else ""
                return f"trailing whitespace{where}"
        return ""

    @on(TextArea.Changed)
    def _changed(self) -> None:
        self._counted = None
        self.describe()

    def describe(self) -> None:
        """Show the kind of prompt, its problem and its size in the border."""
        drafting = self._workspace.drafting
        kind = "" if drafting.kind is PromptKind.TEXT else f" · {drafting.kind}"
        self.border_title = Content(f"Prompt{kind}")
        problem = self.problem if len(self.text) <= _LOOK_AT else ""
        parts = []
        if self._counted is not None:
            problem = self._counted.problem(drafting.parameters.max_tokens) or problem
            parts.append(f"{self._counted.tokens:,} tok")
        if problem:
            parts.insert(0, f"! {one_line(problem, 60)}")
        self.set_class(bool(problem), "-problem")
        self.border_subtitle = Content(" · ".join(parts))
