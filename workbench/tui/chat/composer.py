"""The text field for the next message, or for the new text of an edited turn."""

from __future__ import annotations

from textual import on
from textual.content import Content
from textual.widgets import TextArea

from workbench.domain.conversation import Turn
from workbench.domain.display import one_line
from workbench.tui.commands.keymap import key_of
from workbench.tui.editor.inputs import ExactTextArea
from workbench.workspace.chat_session import ChatSession


class Composer(ExactTextArea):
    """Edits the next message, or a turn; the frame says which, and how it is sent."""

    DEFAULT_CSS = """
    Composer { height: 5; border: round $border-blurred; border-title-color: $text-muted;
        border-subtitle-color: $text-muted; }
    Composer:focus { border: round $accent; }
    """

    def __init__(self, chat: ChatSession) -> None:
        super().__init__(id="composer", soft_wrap=True, compact=False)
        self._chat = chat
        self._before = ""
        """The message typed before the turn was edited."""
        self.editing: Turn | None = None
        """The turn being edited; None for a new message."""

    def on_mount(self) -> None:
        """Show the unsent message of the session."""
        self.set_text(self._chat.workspace.keeper.composed)
        self.describe()

    def set_text(self, text: str) -> None:
        """Replace the text, and move the cursor to its end."""
        self.text = text
        self.move_cursor(self.document.end)

    def edit_turn(self, turn: Turn) -> None:
        """Edit a turn; the message typed so far is restored afterwards."""
        if self.editing is None:
            self._before = self.text
        self.editing = turn
        self.set_text(turn.text)
        self.describe()

    def stop_editing(self) -> bool:
        """Restore the message typed before a turn was edited; return False if none is being edited."""
        was_editing = self.editing is not None
        if was_editing:
            self.editing = None
            self.text = self._before
        self.describe()
        return was_editing

    def take_sent(self, message: str) -> bool:
        """Remove the message that was sent, but not what was typed since.

        Returns whether it was an edited turn and nothing was typed since.
        """
        typed_since = self.text.removeprefix(message)
        was_editing = self.stop_editing()
        self.set_text(f"{self.text if was_editing else ''}{typed_since}")
        return was_editing and not typed_since

    @on(TextArea.Changed)
    def _keep(self) -> None:
        # An edited text is not kept: the conversation still has the turn.
        if self.editing is None:
            self._chat.workspace.keeper.composed = self.text

    def describe(self) -> None:
        """Update the frame: what is being edited, the key that sends it, and the prefill of the answer."""
        number = 0 if self.editing is None else len(self._chat.before(self.editing)) + 1
        cancel = f"Edit turn {number} · {key_of(self.app, 'leave_chat')} cancels"
        self.border_title = Content(cancel if number else "Message")
        parts = [f"{key_of(self.app, 'say')} sends · Enter starts a new line"]
        if self._chat.prefill:
            parts.insert(0, f"the answer begins {one_line(repr(self._chat.prefill), 30)}")
        self.border_subtitle = Content(" · ".join(parts))
