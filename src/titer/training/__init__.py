"""From a dataset and a configuration to a run directory."""
