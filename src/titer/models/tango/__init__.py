"""TANGO: a neural ordinary differential equation over embeddings (Han et al., EMNLP 2021)."""
