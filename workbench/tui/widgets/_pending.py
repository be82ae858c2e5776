from textual.widgets import Static
from workbench.domain.request import Parameters

class ParameterPanel(Static, can_focus=True):
    parameters = Parameters()
    def set_parameters(self, p: Parameters) -> None: self.parameters = p; self.update(str(dict(p.values)))
