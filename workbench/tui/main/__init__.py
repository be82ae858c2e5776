"""The main screen and what is asked over it."""
