"""Evaluation: queries of a split, ranks, filters, tie rules, metrics and calibration, the same for every model."""
