"""The path mixture: a forecast that is a weighted sum over paths in the history."""
