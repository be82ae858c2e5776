"""Files: sessions, presets, configuration and key sources; only this package knows paths and TOML.

How a run is saved to its session file:

1. `journal.Increments.take` copies the tokens received since the last call, in the thread that adds them.
2. `workspace.keeper.Keeper` passes the copy to the session's thread, the only one that calls the store.
3. `session_store.SessionStore.progress` creates the file, with the draft in its head, if it is missing.
4. `journal.Journal` appends the increment to the run's journal, a sidecar named by `sidecars.Sidecars`.
5. When the run has ended, `SessionStore.finish` keeps it in memory until it is on disk.
6. `Journal.end` writes how it ended, and `Journal.appending_at` the file offset it will be appended at.
7. `run_format.run_to_toml` converts the run to TOML, its header first and its token columns last.
8. Holding the sidecars' lock, `SessionStore` reads what others appended (`session_file.FileState`).
9. `session_file.append` appends the run and syncs the file, or restores the old size on failure.
10. `Journal.discard` deletes the journal; after a crash `recovery.recover` finds it at the next start.
"""
