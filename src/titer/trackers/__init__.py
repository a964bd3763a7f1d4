"""Trackers: where the course of a training is sent, such as TensorBoard, MLflow, or Weights & Biases."""
