"""TANGO: embeddings that flow through time."""
