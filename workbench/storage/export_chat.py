"""The conversation of a session as others read it: Markdown, and messages as chat endpoints spell them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workbench.domain.conversation import conversation_to_json
from workbench.domain.display import plural
from workbench.domain.figures import completion_tokens
from workbench.domain.run import Run
from workbench.domain.session import Session
from workbench.storage.markdown import code, fenced, inline


def chat_to_markdown(session: Session) -> str:
    """The turns shown, one after another; empty where there are none."""
    turns = session.chat.turns
    path, branches = turns.path(), turns.branch_counts()
    if not path:
        return ""
    runs = {run.id: run for run in session.runs}
    lines = ["\n## Conversation\n"]
    if session.chat.template:
        lines.append(f"\nTemplate {inline(session.chat.template)}\n")
    if session.chat.system:
        lines.append(f"\n### System\n\n{fenced(session.chat.system)}\n")
    if session.variables:
        values = " · ".join(code(f"{name} = {value}") for name, value in session.variables.items())
        lines.append(f"\nVariables {values}\n")
    for number, turn in enumerate(path, 1):
        branch = ["branch {} of {}".format(*branches[turn.id])] if turn.id in branches else []
        about = [*branch, *_figures(runs.get(turn.run))]
        facts = f"\n{' · '.join(about)}\n" if about else ""
        lines.append(f"\n### {number}. {inline(turn.role)}\n{facts}\n{fenced(turn.text)}\n")
    if left := len(turns.all) - len(path):
        lines.append(f"\nIn other branches: {plural(left, 'more turn')}; their runs are below.\n")
    return "".join(lines)


def messages_of(session: Session) -> Mapping[str, list[dict[str, str]]]:
    """The messages up to each answer and the answer itself, by the id of its run."""
    found: dict[str, list[dict[str, str]]] = {}
    for turn in session.chat.turns.all:
        if turn.run:
            path = session.chat.turns.ending_with(turn.id).path()
            found[turn.run] = conversation_to_json(session.chat.conversation(path, session.variables))
    return found


def _figures(run: Run | None) -> Iterator[str]:
    if run is not None:
        if model := run.model or run.request.model:
            yield inline(model)
        if run.preset:
            yield f"preset {inline(run.preset)}"
        if run.outcome is not None:
            yield run.outcome.value
        yield f"{completion_tokens(run)} tokens"
        yield f"run {run.id[:8]}"
        yield from map(inline, run.notes)
