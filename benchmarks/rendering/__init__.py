"""Render results as Markdown and SVG. Every number comes from a file; the modules here have none of their own."""
