"""Questions in words, ranked answers with evidence."""
