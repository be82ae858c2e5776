"""What a person has open, and everything that can be done to it; without a screen.

The way of a parameter to its file, by the example of a temperature that is stepped in the panel:

1. `ParameterPanel._change` holds the new `Parameters` and posts `Changed`.
2. `MainScreen.take_parameters` hears it and hands them on.
3. `Drafting.parameters_typed` makes them the draft's, and tells `ParametersTyped` for the what-if.
4. `History.record` keeps the `UseSettings` that undoes it, by the name that `drafting.difference` gives it.
5. `MainScreen.keep` comes round within a second and calls `Workspace.tick`, which asks `Drafting.draft`.
6. `Keeper.edited` compares that with what the session holds; `Keeper.tick` makes a job of it, `save_draft`.
7. The job goes through the queue of `_Writer`, whose thread takes it in turn and alone touches the file.
8. `SessionStore.save_draft` takes it for the session's, and `sidecars.write_draft` puts it beside the file.
9. `session_format.draft_to_table` and `toml_table` make text of it, `write_atomically` a file on the disk.
10. Saving or closing has `SessionStore._rewrite` put it into the session's own file, `[draft.parameters]`.
"""
