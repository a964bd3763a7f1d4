"""Training: settings, one loop for every model, checkpoints and the temperature."""
