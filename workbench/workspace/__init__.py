"""What a person has open, and everything that can be done to it; without a screen."""
