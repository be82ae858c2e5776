from dataclasses import dataclass

from textual.message import Message
from textual.widgets import Static, TextArea

from workbench.domain.prompt import *
from workbench.domain.request import Parameters


class PromptEditor(TextArea):
    kind = PromptKind.TEXT
    @property
    def prompt(self): return TextPrompt(self.text)
    def set_prompt(self, p): self.text = prompt_to_editor(p)
    def set_kind(self, k): pass

class ParameterPanel(Static, can_focus=True):
    parameters = Parameters()
    def set_parameters(self, p): self.parameters = p; self.update(str(dict(p.values)))

class Inspector(Static, can_focus=True):
    @dataclass
    class AlternativeChosen(Message):
        position: int
    def show(self, t): self.update(repr(t)[:200], )

class TokenStrip(Static):
    def show(self, t): self.update(repr(t)[:60])
