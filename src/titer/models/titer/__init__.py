"""TITer, the agent that travels back through history (Sun et al., EMNLP 2021). One idea of the paper per file."""
