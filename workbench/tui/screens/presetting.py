"""What the main screen does with presets: applying one, keeping the panel as one, comparing several."""

from __future__ import annotations

from workbench.domain.errors import BadValueError
from workbench.domain.preset import Preset
from workbench.domain.request import Request
from workbench.domain.run import Run
from workbench.runner.comparison import Column
from workbench.storage.endpoints import endpoint_for
from workbench.tui.comparison import Comparison
from workbench.tui.screens.drafting import DraftScreen
from workbench.tui.screens.presets import choose_preset, save_panel


class PresetScreen(DraftScreen):
    """Knows the preset that the draft's parameters began as, and the comparison under way."""

    preset: Preset | None = None
    """The preset last applied; None before the first."""
    comparison: Comparison | None = None
    """The newest comparison; None before the first."""

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

    def action_choose_preset(self) -> None:
        """Choose the preset to apply."""

        def choose() -> None:
            name = self.preset.name if self.preset is not None else ""
            current = self.parameters.parameters
            choose_preset(self.app, self.services.folders, current, name, self.apply_preset)

        self.attempt(choose)

    def apply_preset(self, preset: Preset) -> None:
        """Let the panel go on with a preset; a preset's own endpoint and model are taken too."""

        def apply() -> None:
            parameters = preset.applied_to(self.parameters.parameters)
            if preset.endpoint and preset.endpoint != self.endpoint.name:
                self.use_endpoint(endpoint_for(preset.endpoint, None, self.services.endpoints))
            if preset.model:
                self.use_model(preset.model)
            self.preset = preset
            self.parameters.set_parameters(parameters, parameters, preset.name)

        self.attempt(apply)

    def action_save_preset(self) -> None:
        """Keep the panel as a preset."""

        def save() -> None:
            note = self.preset.note if self.preset is not None else ""
            name = self.preset.name if self.preset is not None else ""
            preset = Preset(name, self.parameters.parameters, note=note)
            save_panel(self.app, self.services.folders, preset, self._take_saved)

        self.attempt(save)

    def _take_saved(self, preset: Preset) -> None:
        self.preset = preset
        self.parameters.set_parameters(preset.parameters, preset.parameters, preset.name)

    def action_compare(self) -> None:
        """Compare presets on the draft's prompt."""
        # Most sessions compare nothing, so the first paint need not wait for it.
        from workbench.tui.screens.comparing import Compared, compare

        def begin() -> None:
            if self.is_streaming:
                raise BadValueError("Something streams already", hint="Stop it with Esc, then compare.")
            request = Request(
                self.prompt.prompt, self.model or self.endpoint.model, self.parameters.parameters
            )
            draft = Compared(
                self.services,
                self.endpoint,
                request,
                self._token_styles,
                on_open=self._compare_opened,
                on_end=self._compared,
                on_adopt=self._adopt,
            )
            compare(self.app, draft)

        self.attempt(begin)

    def _compare_opened(self, comparison: Comparison) -> None:
        self.comparison = comparison

    def _compared(self, run: Run) -> None:
        self.keeper.ended(run)
        if self.is_attached:
            self.output.begin(run)
            self.output.end(run)

    def _adopt(self, column: Column) -> None:
        if column.endpoint.name != self.endpoint.name:
            self.use_endpoint(column.endpoint)
        if column.model and column.model != self.model:
            self.use_model(column.model)
        self.parameters.set_parameters(column.parameters, column.parameters, column.preset)
