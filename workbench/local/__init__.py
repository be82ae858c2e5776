"""The embedded model and the local server: a program of its own, started as a child process."""
