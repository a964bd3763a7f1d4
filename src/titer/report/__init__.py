"""An HTML report about one run: metrics, calibration, events, examples with evidence, training and dataset."""
