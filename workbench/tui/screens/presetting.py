"""What the main screen does with presets: applying one, keeping the panel as one, comparing several."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.domain.display import one_line
from workbench.domain.errors import StorageError
from workbench.domain.preset import Preset
from workbench.domain.request import Parameters
from workbench.domain.run import Run
from workbench.domain.session import Draft
from workbench.storage.endpoints import endpoint_for
from workbench.storage.presets import load_presets
from workbench.tui.screens.drafting import DraftScreen

if TYPE_CHECKING:
    from workbench.tui.comparison import Comparison
    from workbench.tui.screens.compare import Adopted


class PresetScreen(DraftScreen):
    """Knows the preset that the draft's parameters began as, and the comparison under way."""

    preset: Preset | None = None
    """The preset last applied; None before the first."""
    comparison: Comparison | None = None
    """The newest comparison; None before the first."""

    @property
    def draft(self) -> Draft:
        """What editor and panel hold, with the name of the preset."""
        return replace(super().draft, preset=self.preset.name if self.preset is not None else "")

    @property
    def first_draft(self) -> Draft:
        """What a new person finds, under the preset that is configured to begin with."""
        return self._as_configured(super().first_draft)

    @property
    def new_draft(self) -> Draft:
        """What a further session begins with: the configured preset, else the parameters there are."""
        draft = super().new_draft
        if not self.services.config.preset:
            return draft
        return self._as_configured(replace(draft, parameters=super().first_draft.parameters))

    def _as_configured(self, draft: Draft) -> Draft:
        if not (name := self.services.config.preset):
            return draft
        try:
            preset = load_presets(self.services.folders).named(name)
        except StorageError as problem:
            self.notify(str(problem), title="config.toml", severity="warning", markup=False, timeout=10)
            return draft
        return replace(draft, preset=name, parameters=preset.applied_to(draft.parameters))

    def show_draft(self, draft: Draft) -> None:
        """Let editor and panel hold another draft, with its changes to its preset marked."""
        super().show_draft(draft)
        self.show_parameters(draft.parameters, self._preset_named(draft.preset, draft.parameters))

    def preset_of(self, parameters: Parameters) -> str:
        """The name of the draft's preset where parameters are what it makes of them, else empty."""
        preset = self.preset
        return preset.name if preset is not None and preset.applied_to(parameters) == parameters else ""

    def _preset_named(self, name: str, parameters: Parameters) -> Preset | None:
        """A preset by name; one that is there no more keeps its name, with the parameters made of it."""
        if not name:
            return None
        return load_presets(self.services.folders).presets.get(name, Preset(name, parameters))

    def show_parameters(self, parameters: Parameters, preset: Preset | None) -> None:
        """Show parameters in the panel, with their changes to a preset marked."""
        self.preset = preset
        if preset is None:
            self.parameters.set_parameters(parameters)
        else:
            self.parameters.set_parameters(parameters, preset.applied_to(parameters), preset.name)

    @property
    def is_comparing(self) -> bool:
        """Whether a comparison streams."""
        return self.comparison is not None and self.comparison.is_running

    def stop_comparing(self) -> None:
        """Stop every column of a comparison; what came is kept."""
        if self.comparison is not None:
            self.comparison.stop_all()

    async def aclose(self) -> None:
        """Stop a comparison, wait until it has ended, and write everything."""
        if self.comparison is not None:
            await self.comparison.aclose()
        await super().aclose()

    def apply_preset(self, preset: Preset) -> None:
        """Let the panel go on with a preset; a preset's own endpoint and model are taken too."""

        def apply() -> None:
            parameters = preset.applied_to(self.parameters.parameters)
            if preset.endpoint and preset.endpoint != self.endpoint.name:
                self.use_endpoint(endpoint_for(preset.endpoint, None, self.services.endpoints))
            if preset.model:
                self.use_model(preset.model)
            self.show_parameters(parameters, preset)

        self.attempt(apply)

    def keep_compared(self, run: Run) -> None:
        """Keep and show a run of a comparison that has ended."""
        self.keeper.ended(run)
        if self.is_attached:
            self.output.begin(run)
            self.output.end(run)

    def adopt(self, adopted: Adopted) -> None:
        """Let the panel go on with a column's parameters, endpoint and model."""
        column = adopted.column
        if not column.endpoint.base_url:
            words = f"There is no endpoint {one_line(column.endpoint.name, 40)} any more."
            self.notify(words, title="Endpoint", severity="warning", markup=False)
        elif column.endpoint.name != self.endpoint.name:
            self.use_endpoint(column.endpoint)
        if column.model and column.model != self.model:
            self.use_model(column.model)
        preset = self.preset
        if column.preset:
            preset = self._preset_named(column.preset, column.parameters)
        self.show_parameters(column.parameters, preset)
