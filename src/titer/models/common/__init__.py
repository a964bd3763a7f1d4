"""Parts that several models use."""
