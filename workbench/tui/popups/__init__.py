"""What lies over a screen: lists, questions, forms, and the base of every screen that returns a result."""
