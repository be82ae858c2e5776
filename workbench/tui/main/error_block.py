"""The block that shows the last error."""

from __future__ import annotations

from textual import events
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from workbench.domain.display import one_line, visible
from workbench.domain.run import Failure
from workbench.tui.commands.command import Command
from workbench.tui.commands.keymap import commands_of


class ErrorBlock(Vertical):
    """A failure with its place, its cause and the keys that help; shown until the next run."""

    DEFAULT_CSS = """
    ErrorBlock { height: auto; display: none; border: round $error; padding: 0 1;
        background: $surface; color: $foreground; border-title-color: $text-error; }
    ErrorBlock.-shown { display: block; }
    ErrorBlock > Static { max-height: 4; }
    ErrorBlock Horizontal { height: 1; }
    """

    class HintClicked(Message):
        """The command of a hint was clicked."""

        def __init__(self, id: str) -> None:
            super().__init__()
            self.id = id

    def __init__(self) -> None:
        super().__init__()
        self.field = ""
        """The parameter that the error names, or an empty string."""
        self.text = ""
        """The full error message, to be copied; empty if there is no error."""

    def _fill(self) -> None:
        """Mount the content, at the first failure, so that it does not delay the first paint."""
        self._message, self._hint = Static(id="what", markup=False), Static(markup=False)
        table = commands_of(self.app)
        self._edit = _Next(table["focus_parameters"], "Edit field")
        self._retry = _Next(table["run"], "Retry")
        self._elsewhere = _Next(table["choose_endpoint"], "Change endpoint")
        copy = _Next(table["copy_error"], "Copy")
        self.mount(self._message, self._hint, Horizontal(self._retry, self._elsewhere, copy, self._edit))

    def show(self, failure: Failure, where: str, field: str = "", *, was_sent: bool = True) -> None:
        """Show a failure that happened at `where`, such as an endpoint; `field` names the invalid parameter.

        The hint to change the endpoint is shown only if the request was sent, to retry also with a `field`.
        """
        if not self.children:
            self._fill()
        self.field = field
        self.border_title = Content(one_line(f"✗ {failure.title}", 90))
        detail = [where]
        if failure.status is not None and str(failure.status) not in failure.title:
            detail.append(f"HTTP {failure.status}")
        if failure.request_id:
            detail.append(f"request {failure.request_id}")
        known = (failure.title, failure.message, failure.hint, " · ".join(detail))
        self.text = "\n".join(part for part in known if part)
        self._message.display = bool(failure.message)
        self._message.update(Content(_shorten(failure.message)))
        hint = [f"→ {visible(failure.hint)}"] if failure.hint else []
        self._hint.update(Content("\n".join([*hint, one_line(" · ".join(detail), 200)])))
        self._retry.display = was_sent or bool(field)
        self._elsewhere.display = was_sent
        self._edit.display = bool(field)
        self._edit.rename(f"Edit {field}")
        self.add_class("-shown")

    def hide(self) -> None:
        """Hide the block."""
        self.field = self.text = ""
        self.remove_class("-shown")


def _shorten(text: str) -> str:
    lines = visible(text).strip().split("\n")
    return "\n".join(line[:400] for line in lines[:4])


class _Next(Static):
    """A hint: a command and its key."""

    DEFAULT_CSS = """
    _Next { width: auto; height: 1; margin-right: 3; }
    _Next:hover { text-style: underline; }
    """

    def __init__(self, command: Command, title: str) -> None:
        super().__init__(markup=False)
        self._command = command
        self.rename(title)

    def rename(self, title: str) -> None:
        """Change the title of the command."""
        key, label = self._command.first_key, one_line(title, 40)
        if key:
            self.update(Content.assemble((key, "bold $text-accent"), f" {label}"))
        else:
            self.update(Content.styled(label, "bold $text-accent"))

    def on_click(self, event: events.Click) -> None:
        """Request the command."""
        event.stop()
        self.post_message(ErrorBlock.HintClicked(self._command.id))
