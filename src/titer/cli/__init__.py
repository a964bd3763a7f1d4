"""The command line: thin commands, whose verbs are the library's verbs."""
