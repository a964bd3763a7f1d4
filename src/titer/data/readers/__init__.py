"""Readers: from files as people have them to facts."""
