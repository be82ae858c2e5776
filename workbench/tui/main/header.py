"""The first row of the main screen: the session, model and endpoint, and the state of the newest run."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from workbench.domain.display import one_line
from workbench.workspace.run_state import IDLE, RunState


class Header(Widget):
    """A row with the session, model, endpoint and state; only the state is never truncated."""

    DEFAULT_CSS = """
    Header { height: 1; padding: 0 1; background: $panel; color: $foreground; }
    """

    session = reactive("")
    unsaved = reactive(False)
    model = reactive("")
    endpoint = reactive("")
    state: reactive[RunState] = reactive(IDLE)

    def render(self) -> Content:
        """Render the row, with the state at its right end."""
        width = self.content_size.width
        state = Content.styled(one_line(str(self.state), 48), f"$text-{self.state.tone}")
        room = max(width - state.cell_length - 2, 0)
        left = self._left(room)
        gap = max(width - left.cell_length - state.cell_length, 1)
        return Content("").join([left, Content(" " * gap), state])

    def _left(self, room: int) -> Content:
        mark = Content.styled(" • unsaved", "$text-warning") if self.unsaved else Content("")
        session = Content.styled(one_line(self.session, max(room // 3, 8)), "bold")
        model = Content(one_line(self.model, 60))
        at = " @ " if self.model else ""
        endpoint = Content.styled(f"{at}{one_line(self.endpoint, 40)}", "$text-muted")
        left = Content("").join([session, mark, Content("   "), model, endpoint])
        return left.truncate(room, ellipsis=True)
