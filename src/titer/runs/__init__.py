"""The run directory: a trained model with everything needed to use it elsewhere."""
