"""Every walk at once: a forecast that is a sum over paths."""
