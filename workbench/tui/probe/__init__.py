"""Finding out what an endpoint supports."""
