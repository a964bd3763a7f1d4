"""The past of every entity, and which answers are true at which time."""
