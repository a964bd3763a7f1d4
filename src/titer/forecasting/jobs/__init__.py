"""Batch jobs: many questions in files, answered partition by partition into a folder."""
