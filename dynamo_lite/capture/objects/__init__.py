"""Objects of the user's: those that a segment makes, their attributes, when they die."""
