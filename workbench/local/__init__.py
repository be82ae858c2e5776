"""The embedded model and the local server, a separate program that is started as a child process."""
