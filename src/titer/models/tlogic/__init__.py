"""TLogic: temporal logical rules."""
