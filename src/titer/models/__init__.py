"""The models, and their base class."""
