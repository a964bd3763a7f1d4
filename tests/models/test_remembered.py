import torch
from torch import nn

from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.models.remembered import Remembered


def history() -> History:
    return History(Facts.from_rows([(0, 0, 1, 1)]), Vocabulary.numbered(2, 1))


class Counter:
    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> int:
        self.made += 1
        return self.made


def test_nothing_is_made_twice_from_the_same():
    model, past, make, remembered = nn.Linear(1, 1), history(), Counter(), Remembered[int]()
    assert [remembered(model, past, make, 3) for _ in range(3)] == [1, 1, 1]


def test_another_history_another_time_or_other_weights_make_it_anew():
    model, past, make, remembered = nn.Linear(1, 1), history(), Counter(), Remembered[int]()
    assert remembered(model, past, make) == 1
    assert remembered(model, history(), make) == 2
    assert remembered(model, past, make, 5) == 3
    with torch.no_grad():
        model.bias.add_(1)
    assert remembered(model, past, make, 5) == 4
    model.load_state_dict(nn.Linear(1, 1).state_dict())
    assert remembered(model, past, make, 5) == 5
    optimiser = torch.optim.Adam(model.parameters())
    model(torch.ones(1)).backward()
    optimiser.step()
    assert remembered(model, past, make, 5) == 6


def test_weights_whose_changes_cannot_be_seen_are_never_trusted():
    with torch.inference_mode():
        model = nn.Linear(1, 1)
    past, make, remembered = history(), Counter(), Remembered[int]()
    assert [remembered(model, past, make) for _ in range(2)] == [1, 2]
