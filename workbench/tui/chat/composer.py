"""Where a person writes the next message, or another text for a turn."""

from __future__ import annotations

from textual import on
from textual.content import Content
from textual.widgets import TextArea

from workbench.domain.conversation import Turn
from workbench.domain.display import one_line
from workbench.tui.commands.keymap import commands_of
from workbench.tui.editor.inputs import ExactTextArea
from workbench.workspace.chat_session import ChatSession


class Composer(ExactTextArea):
    """Says in its frame what becomes of its text."""

    DEFAULT_CSS = """
    Composer { height: 5; border: round $border-blurred; border-title-color: $text-muted;
        border-subtitle-color: $text-muted; }
    Composer:focus { border: round $accent; }
    """

    def __init__(self, chat: ChatSession) -> None:
        super().__init__(id="composer", soft_wrap=True, compact=False)
        self._chat = chat
        self._before = ""
        self.editing: Turn | None = None
        """The turn whose text it holds, to be changed."""

    def on_mount(self) -> None:
        """Go on with what was being written."""
        self.set_text(self._chat.workspace.keeper.composed)
        self.describe()

    def set_text(self, text: str) -> None:
        """Hold another text, with the cursor at its end."""
        self.text = text
        self.move_cursor(self.document.end)

    def edit_turn(self, turn: Turn) -> None:
        """Hold a turn's text; what was being written comes back afterwards."""
        if self.editing is None:
            self._before = self.text
        self.editing = turn
        self.set_text(turn.text)
        self.describe()

    def stop_editing(self) -> bool:
        """Hold what was there before a turn was edited; False where none is."""
        was_editing = self.editing is not None
        if was_editing:
            self.editing = None
            self.text = self._before
        self.describe()
        return was_editing

    def take_sent(self, message: str) -> bool:
        """Hold only what was typed since a message was sent; whether that is nothing and it was an edit."""
        typed_since = self.text.removeprefix(message)
        was_editing = self.stop_editing()
        self.set_text(f"{self.text if was_editing else ''}{typed_since}")
        return was_editing and not typed_since

    @on(TextArea.Changed)
    def _keep(self) -> None:
        # A turn that is being edited is in the conversation as it was; what was typed before comes back.
        if self.editing is None:
            self._chat.workspace.keeper.composed = self.text

    def describe(self) -> None:
        """Say what the text will be, how it is sent, and how the answer begins."""
        number = 0 if self.editing is None else len(self._chat.before(self.editing)) + 1
        self.border_title = Content(f"Edit turn {number} · Esc cancels" if number else "Message")
        parts = [f"{commands_of(self.app)['say'].first_key} sends · Enter starts a new line"]
        if self._chat.prefill:
            parts.insert(0, f"the answer begins {one_line(repr(self._chat.prefill), 30)}")
        self.border_subtitle = Content(" · ".join(parts))
