"""Temporal knowledge graphs of the Temporal Graph Benchmark (TGB 2.0): catalogue, download, reader, candidate files."""
