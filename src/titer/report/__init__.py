"""One page about one run, for people: what it knows, how it learned, how good it is, and why it says what it says."""
