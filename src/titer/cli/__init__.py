"""The command line. Each command parses its options and calls the library."""
