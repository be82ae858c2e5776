"""The domain model of completions: values and pure functions without I/O, on the standard library only."""
