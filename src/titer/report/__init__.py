"""An HTML report about one run: metrics, calibration, examples with evidence, training and dataset."""
