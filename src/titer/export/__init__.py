"""Facts, forecasts and evidence of a run in the formats of other tools."""
