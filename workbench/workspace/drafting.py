"""The draft of the open session: the editor's prompt, the panel's settings, and their changes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from workbench.domain.display import one_line
from workbench.domain.endpoint import Endpoint
from workbench.domain.errors import BadValueError
from workbench.domain.parameters import Parameters
from workbench.domain.preset import Preset
from workbench.domain.prompt import (
    Prompt,
    PromptKind,
    TextsPrompt,
    kind_of,
    prompt_from_editor,
    prompt_to_editor,
    single_prompts,
)
from workbench.domain.session import Draft
from workbench.storage.endpoint_list import endpoint_for
from workbench.workspace.notifications import (
    EndpointProbed,
    Notice,
    Notification,
    ParametersTyped,
    SettingsChanged,
    TextReplaced,
)
from workbench.workspace.services import Services
from workbench.workspace.undo_history import History, Location, ReplaceText, UseSettings, end_of

if TYPE_CHECKING:
    from workbench.runner.compare_plan import Column


class PromptText:
    """An editable text whose lines end with LF."""

    def __init__(self) -> None:
        self._lines = [""]
        self._text: str | None = ""

    @property
    def text(self) -> str:
        """The whole text, joined once per change and cached, as several readers follow each change."""
        if self._text is None:
            self._text = "\n".join(self._lines)
        return self._text

    def set(self, text: str) -> None:
        """Replace the whole text."""
        self._lines, self._text = text.split("\n"), text

    def replace(self, start: Location, end: Location, inserted: str) -> ReplaceText:
        """Replace a range; return the change."""
        (top, left), (bottom, right) = start, end
        rows = self._lines[top : bottom + 1]
        before, after = rows[0][:left], rows[-1][right:]
        rows[-1] = rows[-1][:right]
        rows[0] = rows[0][left:]
        removed = "\n".join(rows)
        self._lines[top : bottom + 1] = f"{before}{inserted}{after}".split("\n")
        self._text = None
        return ReplaceText(start, removed, inserted)

    def apply(self, change: ReplaceText) -> None:
        """Apply a change to this text."""
        self.replace(change.start, end_of(change.start, change.removed), change.inserted)

    def change_to(self, text: str) -> ReplaceText | None:
        """Return the smallest change that makes this text equal to another; None if they are equal."""
        now = self.text
        if now == text:
            return None
        begin = _common(now, text, lambda a, b, size: a[:size] == b[:size], min(len(now), len(text)))
        rest = min(len(now), len(text)) - begin
        end = _common(now, text, lambda a, b, size: not size or a[-size:] == b[-size:], rest)
        start = end_of((0, 0), now[:begin])
        return ReplaceText(start, now[begin : len(now) - end], text[begin : len(text) - end])


def _common(text: str, other: str, is_common: Callable[[str, str, int], bool], most: int) -> int:
    """Return how many characters, up to `most`, two texts share at one end, by binary search."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        if is_common(text, other, middle):
            least = middle
        else:
            most = middle - 1
    return least


_LABEL = 60
"""Maximum width of a change's label, in cells."""


def with_preset(draft: Draft, preset: Preset) -> Draft:
    """Return a draft with a preset applied, and its endpoint and model if it has them."""
    endpoint = preset.endpoint or draft.endpoint
    model = preset.model or (draft.model if endpoint == draft.endpoint else "")
    parameters = preset.applied_to(draft.parameters)
    return draft._replace(endpoint=endpoint, model=model, preset=preset.name, parameters=parameters)


def preset_of(preset: Preset | None, parameters: Parameters) -> str:
    """Return the preset's name if applying it leaves the parameters unchanged, else an empty string."""
    return preset.name if preset is not None and preset.applied_to(parameters) == parameters else ""


def as_kind(text: str, kind: PromptKind, wanted: PromptKind) -> str:
    """Convert a prompt's text between one text and a list with one text; other kinds keep it unchanged."""
    if kind is PromptKind.TEXT and wanted is PromptKind.TEXTS:
        return prompt_to_editor(TextsPrompt((text,)))
    if kind is PromptKind.TEXTS and wanted is PromptKind.TEXT:
        texts = single_prompts(prompt_from_editor(kind, text))
        if len(texts) == 1:
            return prompt_to_editor(texts[0])
    return text


def difference(before: Draft, after: Draft, width: int = _LABEL) -> str:
    """Describe the differences of two drafts except their prompts, on one line of at most `width` cells."""
    parts = [f"the prompt as {after.kind}"] * (before.kind is not after.kind)
    parts += [f"preset {after.preset or 'none'}"] * (before.preset != after.preset)
    parts += [str(change) for change in before.parameters.changes_to(after.parameters)]
    parts += ["extra"] * (before.parameters.extra != after.parameters.extra)
    parts += [f"endpoint {after.endpoint}"] * (before.endpoint != after.endpoint)
    parts += [f"model {after.model or 'the endpoint’s own'}"] * (before.model != after.model)
    return one_line(" · ".join(parts), width)


class Drafting:
    """The draft of the open session; changes can be undone."""

    def __init__(self, services: Services, history: History, notify: Callable[[Notification], None]) -> None:
        """`notify` receives changes of the draft, except those that its editor and panel already show."""
        self._services = services
        self._history = history
        self._notify = notify
        self._text = PromptText()
        self.endpoint = services.endpoint
        self.previous_endpoint: Endpoint | None = None
        """The endpoint before the person's last switch; None before the first."""
        self.model = services.model
        """The model chosen; empty for the endpoint's default."""
        self.preset: Preset | None = None
        """The preset last applied; None if there is none."""
        self.parameters = Parameters()
        self._typed: Parameters | BadValueError | None = None
        self.kind = PromptKind.TEXT
        """Kind of the prompt."""

    # --- state -------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The prompt as text in the editor, valid for its kind or not."""
        return self._text.text

    @property
    def settings(self) -> Draft:
        """The draft without its prompt."""
        preset = self.preset.name if self.preset is not None else ""
        return Draft(self.endpoint.name, self.model, preset, "", self.kind, self.parameters)

    @property
    def draft(self) -> Draft:
        """The whole draft, whether or not it could be sent."""
        return self.settings._replace(prompt=self.text)

    @property
    def requested_model(self) -> str:
        """The model of a request: the chosen one, else the endpoint's default; empty sends none."""
        return self.model or self.endpoint.model

    @property
    def prompt(self) -> Prompt:
        """The prompt, its variables not filled in. Raises BadValueError if it is invalid for its kind."""
        return prompt_from_editor(self.kind, self.text)

    @property
    def requested_parameters(self) -> Parameters:
        """The parameters of a request, including a value being typed in the panel.

        Raises BadValueError if that value is invalid.
        """
        if isinstance(self._typed, BadValueError):
            raise self._typed
        return self.parameters if self._typed is None else self._typed

    def preset_of(self, parameters: Parameters) -> str:
        """Return the name of the draft's preset if the parameters match it, else an empty string."""
        return preset_of(self.preset, parameters)

    # --- typing ------------------------------------------------------------------------------------------

    def typed(self, start: Location, end: Location, text: str) -> None:
        """Apply a change that the prompt's editor already shows."""
        self._history.record_text(self._text.replace(start, end, text))

    def note_typed(self, parameters: Parameters | BadValueError) -> None:
        """Store the panel's parameters while a value is being typed, or the error if it is invalid."""
        self._typed = parameters

    def take_typed(self) -> None:
        """Apply a value being typed in the panel, if it is valid."""
        with suppress(BadValueError):
            self.parameters_typed(self.requested_parameters)

    def parameters_typed(self, parameters: Parameters) -> None:
        """Apply a change that the panel already shows."""
        self._typed = None
        if parameters != self.parameters:
            before, self.parameters = self._now, parameters
            self._history.record(difference(before.draft, self.settings), before)
            self._notify(ParametersTyped())

    # --- replacing ---------------------------------------------------------------------------------------

    def show(self, draft: Draft) -> None:
        """Show another draft, without recording a change that can be undone."""
        try:
            step = self._to(draft)
        except BadValueError as problem:
            self._notify(Notice(str(problem), "Endpoint"))
            # Keep the unknown endpoint's name: the draft must not go to a different endpoint.
            preset = self._preset_named(draft.preset, draft.parameters)
            step = UseSettings(draft, Endpoint(draft.endpoint, ""), preset)
        self._text.set(draft.prompt)
        self.apply(step)

    def use(self, draft: Draft, label: str = "") -> None:
        """Replace the draft as one change, labelled by its differences if `label` is empty.

        Raises BadValueError if its endpoint is unknown.
        """
        step, differing = self._to(draft), difference(self.settings, draft)
        with self._history.group(label or differing or "the prompt"):
            if differing:
                self._history.record(label, self.apply(step))
            self.set_text(draft.prompt)

    def set_text(self, text: str) -> None:
        """Replace the prompt's text."""
        if (change := self._text.change_to(text)) is not None:
            self._history.record("the prompt", self.apply(change))

    def set_prompt(self, prompt: Prompt) -> None:
        """Replace the prompt by one of any kind."""
        self.use(self.settings._replace(kind=kind_of(prompt), prompt=prompt_to_editor(prompt)))

    def set_kind(self, kind: PromptKind) -> None:
        """Change the kind of the prompt, converting its text with `as_kind`."""
        self.use(self.settings._replace(kind=kind, prompt=as_kind(self.text, self.kind, kind)))

    def use_endpoint(self, endpoint: Endpoint) -> None:
        """Switch to another endpoint and its default model."""
        before = self._now
        if endpoint.name != self.endpoint.name:
            self.model = ""
        self.endpoint = endpoint
        self._changed(before)

    def use_model(self, model: str) -> None:
        """Switch to another model; an empty name means the endpoint's default."""
        before, self.model = self._now, model
        self._changed(before)

    def apply_preset(self, preset: Preset) -> None:
        """Apply a preset, with its endpoint and model if it has them.

        Raises BadValueError if its endpoint is unknown.
        """
        before = self._now
        step = self._to(with_preset(self.settings, preset))
        self.endpoint, self.preset = step.endpoint, preset
        self.model, self.parameters = step.draft.model, step.draft.parameters
        self._changed(before)

    def saved_as(self, preset: Preset) -> None:
        """Use a preset that was just saved from the parameters."""
        before, self.preset, self.parameters = self._now, preset, preset.parameters
        self._changed(before)

    def preset_replaced(self, name: str, preset: Preset | None) -> None:
        """Use `preset` wherever the draft or its history used the one with a name, which no longer exists.

        None if nothing replaces it. The parameters stay, and the change cannot be undone: files changed.
        """
        self._history.replace_preset(name, preset)
        if self.preset is not None and self.preset.name == name:
            self.take_typed()
            self.preset = preset
            self._show_settings()

    def note_probe(self) -> None:
        """Notify that more of the endpoint's capabilities are known."""
        self._notify(EndpointProbed())

    def adopt(self, column: Column) -> None:
        """Use the parameters, endpoint and model of a column, and report the changes."""
        before = self._now
        if not column.endpoint.base_url:
            message = f"The endpoint {one_line(column.endpoint.name, 40)} no longer exists."
            self._notify(Notice(message, "Endpoint"))
        elif column.endpoint.name != self.endpoint.name:
            self.endpoint, self.model = column.endpoint, ""
        self.model = column.model or self.model
        if column.preset:
            self.preset = self._preset_named(column.preset, column.parameters)
        self.parameters = column.parameters
        self._changed(before)
        changes = difference(before.draft, self.settings, 400)
        end = f"{changes}; u undoes" if changes else "they were the same"
        self._notify(Notice(f"Settings of {one_line(column.title, 40)} adopted: {end}"))

    # --- steps -------------------------------------------------------------------------------------------

    def apply(self, step: ReplaceText | UseSettings) -> ReplaceText | UseSettings:
        """Apply a step of the undo history; return the step that undoes it."""
        if isinstance(step, ReplaceText):
            self._text.apply(step)
            self._notify(TextReplaced(step))
            return step.inverse
        before, draft = self._now, step.draft
        self.endpoint, self.preset = step.endpoint, step.preset
        self.model, self.kind, self.parameters = draft.model, draft.kind, draft.parameters
        self._show_settings()
        return before

    @property
    def _now(self) -> UseSettings:
        return UseSettings(self.settings, self.endpoint, self.preset)

    def _to(self, draft: Draft) -> UseSettings:
        """Return the step that adopts a draft's settings. Raises BadValueError if its endpoint is unknown."""
        endpoint, preset = self.endpoint, self.preset
        if draft.endpoint and draft.endpoint != endpoint.name:
            endpoint = endpoint_for(draft.endpoint, None, self._services.endpoints)
        if draft.preset != (preset.name if preset is not None else ""):
            preset = self._preset_named(draft.preset, draft.parameters)
        return UseSettings(draft, endpoint, preset)

    def _preset_named(self, name: str, parameters: Parameters) -> Preset | None:
        """Return a preset by name; one that no longer exists is rebuilt from the parameters."""
        if not name:
            return None
        return self._services.presets().presets.get(name, Preset(name, parameters))

    def _changed(self, before: UseSettings) -> None:
        """Record changed settings and show them.

        They are also shown if only the contents behind a name differ, as of an edited endpoint.
        """
        if before.draft != self.settings:
            self._history.record(difference(before.draft, self.settings), before)
        self._show_settings()

    def _show_settings(self) -> None:
        # The panel then shows them instead of the value being typed.
        self._typed = None
        self._notify(SettingsChanged())
