"""Readers of data files: delimited text, Parquet, Feather, JSON lines, and the benchmark format."""
