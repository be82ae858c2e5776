"""The open session and the operations on it, independent of any screen.

How a parameter reaches the disk, for example a temperature changed in the panel:

1. `ParameterPanel._change` stores the new `Parameters` and posts `Changed`.
2. `MainScreen.take_parameters` handles the message and passes the parameters on.
3. `Drafting.parameters_typed` updates the draft and sends `ParametersTyped` to refresh the what-if.
4. `History.record` stores the `UseSettings` that undoes the change, labelled by `drafting.difference`.
5. `MainScreen.keep` runs every second and calls `Workspace.tick`, which reads `Drafting.draft`.
6. `Keeper.edited` compares the draft with the session's; `Keeper.tick` queues a `save_draft` job.
7. The thread of `_Writer`, the only code that touches the file, takes the job from its queue.
8. `SessionStore.save_draft` stores the draft, and `sidecars.write_draft` writes it beside the session file.
9. `session_format.draft_to_table` and `toml_table` serialise it, `write_atomically` replaces the file.
10. On save or close, `SessionStore._rewrite` moves it into the session file, as `[draft.parameters]`.
"""
