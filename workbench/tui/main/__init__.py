"""The main screen and its flows."""
