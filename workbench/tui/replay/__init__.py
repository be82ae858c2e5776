"""Playing a recorded run again."""
