"""Ranks, filters, tie rules and metrics: one protocol for every forecaster."""
