"""The combination of intensities with the model's view."""

import torch

from titer.events.calibration import repeated_inputs
from titer.events.estimates import Estimates


def test_a_model_that_agrees_in_the_first_step_changes_no_other():
    first, later = torch.tensor([-6.0, 0.5]), torch.tensor([0.5, -6.0])  # due on another day, and on this one
    agreeing = Estimates(first, first, torch.ones(2, 2, dtype=torch.bool))
    found = repeated_inputs(later, first, agreeing)
    assert found[:, 1].tolist() == later.tolist()
    assert found[:, 2:4].tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_a_model_that_disagrees_changes_every_step_as_much():
    first = torch.tensor([-2.0])
    doubtful = Estimates(first - 1, first + 2, torch.ones(1, 2, dtype=torch.bool))
    for log_intensity in (first, torch.tensor([0.5])):
        assert repeated_inputs(log_intensity, first, doubtful)[0, 2:4].tolist() == [-1.0, 2.0]


def test_the_view_of_a_model_that_scored_neither_pair_is_left_out():
    first = torch.tensor([-2.0])
    unknown = Estimates(first - 1, first + 2, torch.zeros(1, 2, dtype=torch.bool))
    assert repeated_inputs(first, first, unknown)[0, 2:].tolist() == [0.0, 0.0, 0.0, 0.0]
