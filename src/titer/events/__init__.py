"""Event forecasts: which facts happen, how likely they are, and when."""
