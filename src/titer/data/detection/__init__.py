"""Detection of what a file contains: its layout, its dates and its columns."""
