"""What the prompt is made of, the values of its variables, and prompts taken from curl commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Label

from workbench.domain.display import escaped, one_line, unescaped
from workbench.domain.errors import BadValueError, WorkbenchError
from workbench.domain.prompt import PromptKind
from workbench.domain.variables import find_variables
from workbench.runner.import_curl import CurlDraft, draft_from_curl, is_curl
from workbench.runner.prompt_kinds import converted, holds_ids
from workbench.storage.endpoint_list import EndpointList
from workbench.storage.variable_files import load_variables
from workbench.tui.commands.command import Where
from workbench.tui.commands.table import bindings_at
from workbench.tui.editor.external_editor import edited_text, with_editor
from workbench.tui.editor.inputs import ExactTextArea
from workbench.tui.flows import FlowContext
from workbench.tui.popups.picker import Box, Item, Picker, Popup
from workbench.tui.popups.question import Form, FormLine
from workbench.tui.tokenizing import has_tokenizer, no_tokenizer

_KINDS = {
    PromptKind.TEXT: "one text, exactly as typed",
    PromptKind.TEXTS: "several prompts, separated by a line ---",
    PromptKind.TOKENS: "one text as token ids: 1, 2, 3",
    PromptKind.TOKEN_LISTS: "several texts as token ids, one a line",
}


async def choose_kind(flow: FlowContext) -> None:
    """Choose what the prompt is made of."""
    items = [Item(kind.value, kind.value, detail) for kind, detail in _KINDS.items()]
    kind = await flow.ask(Picker("Prompt kind", items, chosen=flow.workspace.drafting.kind.value))
    if kind is not None:
        await _use_kind(flow, PromptKind(kind))


async def _use_kind(flow: FlowContext, kind: PromptKind) -> None:
    """Send the prompt as another kind; texts become token ids, and the other way round, where that can be."""
    drafting = flow.workspace.drafting
    if not drafting.text.strip() or holds_ids(drafting.kind) == holds_ids(kind):
        drafting.set_kind(kind)
    elif not has_tokenizer(flow.services, drafting.endpoint):
        drafting.set_kind(kind)
        flow.warn(f"{no_tokenizer(drafting.endpoint)}, so the text was not converted.", "Prompt kind")
    else:
        try:
            prompt = flow.workspace.prompt
            made = await converted(flow.services.connections, drafting.endpoint, prompt, kind)
        except WorkbenchError as problem:
            flow.fail(problem, "Prompt kind")
        else:
            drafting.set_prompt(made)


async def variables(flow: FlowContext) -> None:
    """Give the prompt's variables their values."""
    await edit_variables(flow, find_variables(flow.workspace.drafting.text))


async def edit_variables(flow: FlowContext, names: Iterable[str]) -> None:
    """Ask for the values of variables, which the session keeps.

    Those that have a value though no prompt names them are offered too.
    """
    values = await flow.ask(variables_form(names, flow.workspace.session.variables))
    if values is not None:
        flow.workspace.set_variables(values)


async def edit_elsewhere(flow: FlowContext) -> None:
    """Edit the prompt in the person's editor."""
    environment = with_editor(flow.services.environment, flow.services.config.editor)
    try:
        async with edited_text(flow.app, flow.workspace.drafting.text, environment) as text:
            flow.workspace.drafting.set_text(text)
    except WorkbenchError as problem:
        flow.fail(problem, "Editor")


async def paste_curl(flow: FlowContext) -> None:
    """Take prompt and parameters from a curl command."""
    text = flow.workspace.drafting.text if is_curl(flow.workspace.drafting.text) else ""
    if (taken := await flow.ask(CurlPopup(flow.services.endpoints, text))) is not None:
        _take(flow, taken)


async def offer_curl(flow: FlowContext, text: str) -> None:
    """Offer to take over a curl command that was pasted as text; one that cannot be is left alone."""
    try:
        taken = draft_from_curl(text, flow.services.endpoints)
    except WorkbenchError:
        return
    question = "This is a curl command. Import its prompt and parameters?\n" + "\n".join(taken.notes)
    if await flow.confirmed(question, "import", "keep as text"):
        _take(flow, taken)


def _take(flow: FlowContext, taken: CurlDraft) -> None:
    flow.workspace.drafting.use(taken.draft, "the curl command")
    message = "\n".join((*taken.notes, "Undo reverts it."))
    flow.app.notify(message, title="curl", timeout=8)


class CurlPopup(Popup[CurlDraft]):
    """Returns what the command pasted would send, or None; what cannot be read is shown below it."""

    DEFAULT_CSS = """
    CurlPopup > Box { max-width: 100; }
    CurlPopup ExactTextArea { height: 12; border: none; padding: 0; background: $panel; }
    CurlPopup #wrong { color: $text-error; width: 100%; }
    """
    BINDINGS = bindings_at(Where.CURL)
    where = Where.CURL

    def __init__(self, endpoints: EndpointList, text: str = "") -> None:
        super().__init__()
        self._endpoints = endpoints
        self._text = text

    def compose(self) -> ComposeResult:
        with Box("Paste a curl command", "Ctrl+J import prompt and parameters · Esc cancel"):
            yield ExactTextArea(self._text, soft_wrap=True, compact=True)
            yield Label(id="wrong")

    def action_take(self) -> None:
        """Take the command over, or say what is wrong with it."""
        try:
            taken = draft_from_curl(self.query_one(ExactTextArea).text, self._endpoints)
        except WorkbenchError as problem:
            message = " ".join(filter(None, (problem.title, problem.message, problem.hint)))
            self.query_one("#wrong", Label).update(Content(one_line(message, 300)))
            return
        self.dismiss(taken)


def variables_form(names: Iterable[str], values: Mapping[str, str]) -> Form[Mapping[str, str]]:
    """Asks for the values of variables, also of those that have one though no prompt names them."""
    known = [*dict.fromkeys([*names, *values])] or [""]
    entries = [FormLine("from a file (TOML or JSON)", "", "path, or empty")]
    entries += [
        FormLine(
            f"{{{{{name}}}}}" if name else "no {{name}} in the prompt yet: NAME=VALUE",
            escaped(values.get(name, "")),
        )
        for name in known
    ]
    return Form("Variables · \\n is a line's end", entries, partial(_read, known), exact=True)


def _read(known: Sequence[str], lines: Sequence[str]) -> Mapping[str, str]:
    given = {name: unescaped(line) for name, line in zip(known, lines[1:], strict=True) if name and line}
    if "" in known and lines[1]:
        name, equals, value = lines[1].partition("=")
        if not name or not equals:
            raise BadValueError("This is not NAME=VALUE", hint="Such as place=the harbour.")
        given[name] = unescaped(value)
    if path := lines[0].strip():
        return {**given, **load_variables(Path(path).expanduser())}
    return given
