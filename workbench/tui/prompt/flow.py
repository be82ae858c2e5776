"""Change the prompt's kind and variables, edit it in $EDITOR, or import a curl command."""

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
from workbench.runner.prompt_conversion import converted, holds_ids
from workbench.storage.endpoint_list import EndpointList
from workbench.storage.variable_files import load_variables
from workbench.tui.commands.command import Where
from workbench.tui.commands.keymap import key_of
from workbench.tui.commands.table import bindings_at
from workbench.tui.editor.external_editor import edited_text, with_editor
from workbench.tui.editor.inputs import ExactTextArea
from workbench.tui.flows import FlowContext
from workbench.tui.popups.picker import Item, Picker
from workbench.tui.popups.popup import Box, Popup
from workbench.tui.popups.question import Form, FormLine
from workbench.tui.tokenizing import has_tokenizer, no_tokenizer

_KINDS = {
    PromptKind.TEXT: "one text, exactly as typed",
    PromptKind.TEXTS: "several prompts, separated by a line ---",
    PromptKind.TOKENS: "one text as token ids: 1, 2, 3",
    PromptKind.TOKEN_LISTS: "several texts as token ids, one a line",
}


async def choose_kind(flow: FlowContext) -> None:
    """Choose the kind of the prompt: text, several texts, token ids, or lists of them."""
    items = [Item(kind.value, kind.value, detail) for kind, detail in _KINDS.items()]
    kind = await flow.ask(Picker("Prompt kind", items, chosen=flow.workspace.drafting.kind.value))
    if kind is not None:
        await _use_kind(flow, PromptKind(kind))


async def _use_kind(flow: FlowContext, kind: PromptKind) -> None:
    """Convert the prompt to another kind; without a tokenizer, keep its text and change only the kind."""
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
    """Edit the values of the prompt's variables."""
    await edit_variables(flow, find_variables(flow.workspace.drafting.text))


async def edit_variables(flow: FlowContext, names: Iterable[str]) -> None:
    """Ask for the values of variables, and keep them in the session."""
    values = await flow.ask(variables_form(names, flow.workspace.session.variables))
    if values is not None:
        flow.workspace.set_variables(values)


async def edit_elsewhere(flow: FlowContext) -> None:
    """Edit the prompt in $EDITOR."""
    environment = with_editor(flow.services.environment, flow.services.config.editor)
    try:
        async with edited_text(flow.app, flow.workspace.drafting.text, environment) as text:
            flow.workspace.drafting.set_text(text)
    except WorkbenchError as problem:
        flow.fail(problem, "Editor")


async def paste_curl(flow: FlowContext) -> None:
    """Import the prompt and parameters of a curl command."""
    text = flow.workspace.drafting.text if is_curl(flow.workspace.drafting.text) else ""
    if (taken := await flow.ask(CurlPopup(flow.services.endpoints, text))) is not None:
        _take(flow, taken)


async def offer_curl(flow: FlowContext, text: str) -> None:
    """Offer to import a curl command that was pasted as text; do nothing if it is invalid."""
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
    """Asks for a curl command; returns its request as a draft, or None. Shows errors below the command."""

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
        keys = f"{key_of(self.app, 'take_curl')} import prompt and parameters · Esc cancel"
        with Box("Paste a curl command", keys):
            yield ExactTextArea(self._text, soft_wrap=True, compact=True)
            yield Label(id="wrong")

    def action_take(self) -> None:
        """Close with the draft, or show what is wrong with the command."""
        try:
            taken = draft_from_curl(self.query_one(ExactTextArea).text, self._endpoints)
        except WorkbenchError as problem:
            self.query_one("#wrong", Label).update(Content(one_line(problem.paragraph)))
            return
        self.dismiss(taken)


def variables_form(names: Iterable[str], values: Mapping[str, str]) -> Form[Mapping[str, str]]:
    """Return a form for the values of variables: those named, and those that have a value already."""
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
    """Parse the lines of the form. Raises BadValueError, or StorageError for an invalid file."""
    given = {name: unescaped(line) for name, line in zip(known, lines[1:], strict=True) if name and line}
    if "" in known and lines[1]:
        name, equals, value = lines[1].partition("=")
        if not name or not equals:
            raise BadValueError("This is not NAME=VALUE", hint="Such as place=the harbour.")
        given[name] = unescaped(value)
    if path := lines[0].strip():
        return {**given, **load_variables(Path(path).expanduser())}
    return given
