"""Files: sessions, presets, configuration, and where secrets are; the only place that knows paths and TOML.

How a run gets to its file:

1. `journal.Increments.take` copies what the run received since the last call, where its columns grow.
2. `workspace.keeper.Keeper` hands the copy to the session's thread, which alone calls the store.
3. `session_store.SessionStore.progress` makes sure that the file exists, with the draft in its head.
4. `journal.Journal` appends the increment to the run's journal, a sidecar that `sidecars.Sidecars` names.
5. When the run is over, `SessionStore.finish` keeps it in memory until the disk has it.
6. `Journal.end` writes how it ended, and `Journal.appending_at` where in the file it is about to go.
7. `run_format.run_to_toml` writes the run as TOML, its header first and its token columns last.
8. Under the lock of the sidecars, `SessionStore` reads what others appended (`session_file.FileState`).
9. `session_file.append` writes the run at the end, waits for the disk, or leaves the file as it was.
10. `Journal.discard` removes the journal; after a crash `recovery.recover` finds it at the next start.
"""
