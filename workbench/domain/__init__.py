"""What a completion is: values and pure functions, with no I/O and only the standard library."""
