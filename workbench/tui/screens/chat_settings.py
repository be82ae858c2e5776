"""What a person sets for a conversation: template, system prompt, an answer's beginning, variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType

from workbench.chat.sources import load_templates
from workbench.chat.templates import BUILTIN_TEMPLATES, PLAIN
from workbench.domain.conversation import Prefixes, WhenFull
from workbench.domain.display import escaped, unescaped
from workbench.domain.errors import BadValueError, WorkbenchError
from workbench.domain.variables import find_variables
from workbench.runner.chatting import named_template
from workbench.tui.screens.chat_turns import ChatTurnsScreen
from workbench.tui.screens.form import Entry, Form
from workbench.tui.screens.naming import Naming
from workbench.tui.screens.popup import Item, Picker
from workbench.tui.screens.variables import edit_variables
from workbench.tui.screens.writing import Writing

_OWN = "\0own"
"""Stands for the endpoint's own template among names, none of which can hold this character."""
_SIZE = "size"
_RULES = {
    WhenFull.REFUSE: "leave nothing out: say so, and send nothing",
    WhenFull.DROP_OLDEST: "leave the oldest turns out, as few as need be",
    WhenFull.KEEP_FIRST: "keep the first exchange, leave out those after it",
    WhenFull.LAST_ONLY: "leave out all but the last thing said",
}


class ChatSettingsScreen(ChatTurnsScreen):
    """Every setting is kept with the session, and each change of one can be undone."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+t", "template", "Template", show=False, priority=True),
        Binding("f3", "system", "System prompt", show=False, priority=True),
        Binding("f6", "prefill", "Answer begins", show=False, priority=True),
        Binding("f7", "when_full", "Context", show=False, priority=True),
        Binding("f10", "variables", "Variables", show=False, priority=True),
    ]

    # --- the template ------------------------------------------------------------------------------------

    def action_template(self) -> None:
        """Choose the template for the next turns."""
        chat = self.chat.chat
        items = [Item(_OWN, "the endpoint's own", "as llama.cpp and the local server tell of themselves")]
        items += [Item(name, name, one.title) for name, one in BUILTIN_TEMPLATES.items()]
        if chat.template and chat.template not in BUILTIN_TEMPLATES:
            items.append(Item(chat.template, chat.template, "a file"))

        def chosen(name: str | None) -> None:
            if name == PLAIN:
                self._ask_prefixes()
            elif name is not None:
                self._attempt(lambda: self._use_template(name))

        note = "or type a path: a template, a tokenizer_config.json or their folder"
        self.app.push_screen(
            Picker("Template", items, chosen=chat.template or _OWN, free_text=True, note=note), chosen
        )

    def _use_template(self, name: str) -> None:
        """Raises TemplateError where there is no such template."""
        if name != _OWN and name not in BUILTIN_TEMPLATES:
            path = Path(name).expanduser()
            if path.exists():
                name = str(path.resolve())
                if len(found := load_templates(path)) > 1:
                    self._ask_which(name, list(found))
                    return
            named_template(name)
        template = "" if name == _OWN else name
        self.chat.configure("the template", replace(self.chat.chat, template=template))

    def _ask_which(self, path: str, names: Sequence[str]) -> None:
        def chosen(name: str | None) -> None:
            if name is not None:
                self._attempt(lambda: self._use_template(f"{path}:{name}"))

        self.app.push_screen(Picker("Templates in the file", [Item(name, name) for name in names]), chosen)

    def _ask_prefixes(self) -> None:
        prefixes = self.chat.chat.prefixes
        entries = [
            Entry("before what you say", escaped(prefixes.user)),
            Entry("before an answer", escaped(prefixes.assistant)),
            Entry("before the system prompt", escaped(prefixes.system)),
            Entry("between turns", escaped(prefixes.separator)),
        ]

        def take(answer: Prefixes | None) -> None:
            if answer is not None:
                chat = replace(self.chat.chat, template=PLAIN, prefixes=answer)
                self.chat.configure("the template", chat)

        form = Form(
            "Plain text · \\n is a line's end",
            entries,
            lambda lines: Prefixes(*map(unescaped, lines)),
            exact=True,
        )
        self.app.push_screen(form, take)

    # --- what is said beside the turns -------------------------------------------------------------------

    def action_system(self) -> None:
        """Write the system prompt."""

        def take(text: str | None) -> None:
            if text is not None:
                self.chat.configure("the system prompt", replace(self.chat.chat, system=text or None))

        self.app.push_screen(
            Writing("System prompt · empty leaves it to the template", self.chat.chat.system or ""), take
        )

    def action_prefill(self) -> None:
        """Write how the next answer begins; the model goes on from there."""

        def take(text: str | None) -> None:
            if text is not None:
                self.chat.prefill = text
                self.title_composer(self.editing)
                self.prompt_changed()

        self.app.push_screen(Writing("The next answer begins", self.chat.prefill), take)

    def action_when_full(self) -> None:
        """Choose what is left out when the context is full, or say how much it is."""
        size = self.chat.chat.context
        items = [Item(rule.value, rule.value, words) for rule, words in _RULES.items()]
        items.append(Item(_SIZE, "size…", f"{size:,} tokens" if size else "as the endpoint tells"))

        def chosen(name: str | None) -> None:
            if name == _SIZE:
                self._ask_size()
            elif name is not None:
                self.chat.configure(
                    "the rule for a full context", replace(self.chat.chat, when_full=WhenFull(name))
                )

        self.app.push_screen(
            Picker("When the context is full", items, chosen=self.chat.chat.when_full.value), chosen
        )

    def _ask_size(self) -> None:
        def chosen(text: str | None) -> None:
            if text is not None:
                self._attempt(lambda: self._use_size(text))

        size = self.chat.chat.context
        title = "Context in tokens · empty asks the endpoint"
        self.app.push_screen(Naming(title, str(size or ""), may_be_empty=True), chosen)

    def _use_size(self, text: str) -> None:
        """Raises BadValueError where it is no number of tokens."""
        digits = text.replace(",", "").replace("_", "")
        if digits and not (digits.isascii() and digits.isdigit() and int(digits)):
            raise BadValueError("The context is a number of tokens", hint="Such as 4096.")
        self.chat.configure(
            "the context's size", replace(self.chat.chat, context=int(digits) if digits else None)
        )

    def action_variables(self) -> None:
        """Give the variables of the conversation their values."""
        written = [self.chat.chat.system or "", *(turn.text for turn in self.chat.path if not turn.run)]
        texts = (*written, self.chat.prefill, self.composer.text)
        names = [name for text in texts for name in find_variables(text)]
        edit_variables(self.app, names, self.chat.keeper, self.chat.changes, self.chat.on_change)

    def _attempt(self, action: Callable[[], None]) -> None:
        try:
            action()
        except WorkbenchError as problem:
            self.notify(str(problem), severity="error", markup=False, timeout=8)
