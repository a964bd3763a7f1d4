"""TANGO, whose embeddings flow through time (Han et al., EMNLP 2021)."""
