"""The raw traffic of the last request."""
