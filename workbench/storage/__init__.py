"""Files: sessions, presets, configuration, secrets' whereabouts; the only place that knows paths and TOML."""
