"""Questions about events: what happens next, whether, and when."""
