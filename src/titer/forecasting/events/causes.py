"""Past facts that raise or lower the intensity of an event."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from titer.events.counts import GroupState
from titer.events.index import EventIndex
from titer.events.model import EventModel
from titer.events.triples import Bag, Triples
from titer.forecasting.events.windows import Window
from titer.forecasting.forecast import Reason
from titer.forecasting.predictor import Predictor
from titer.models.evidence import Edge

PARTS = {
    # Facts to leave out, and the groups that contain them.
    "fact": ("fact", "pair", "subject and relation", "object and relation", "subject", "object"),
    "reversed fact": (
        "reversed fact", "reversed pair", "object as subject", "subject as object", "object, active",
        "subject, passive",
    ),
    "pair": ("pair", "subject", "object"),
    "reversed pair": ("reversed pair", "object, active", "subject, passive"),
    "subject and relation": ("subject and relation", "subject"),
    "object and relation": ("object and relation", "object"),
}  # fmt: skip
NARROWER = {
    "pair": "fact",
    "reversed pair": "reversed fact",
    "subject and relation": "fact",
    "object and relation": "fact",
}
"""Facts of a group that are evidence of their own, and not left out with it."""
MIN_CHANGE = 0.01
"""Smallest decrease of the log intensity that is worth showing."""
MIN_INCREASE = 0.05
"""Smallest increase that is; without a group, a small one is often chance."""


@dataclass(frozen=True)
class _Group:
    """Facts that are left out together."""

    name: str
    edge: Edge
    number: int


def causes_of(
    predictor: Predictor, events: EventModel, triple: tuple[int, int, int], window: Window, limit: int
) -> tuple[tuple[Reason, ...], tuple[Reason, ...]]:
    """Return the groups of past facts without which the event would be less likely, and more likely, strongest first.

    The intensity in the first forecast step is computed again without each group of facts: the same fact, its reverse,
    other facts between the two, and other facts of the subject or the object with this relation. The share of a group
    is its part of the sum of all decreases of the log intensity, or of all increases.

    Args:
        predictor: The model and the history.
        events: The event model.
        triple: The ids of subject, relation and object.
        window: The time steps that the forecast is about. The age of evidence is counted from its first step.
        limit: How many groups of each sort to return at most.
    """
    index, origin = events.indexed(predictor.history).index, window.origin
    triples = Triples(*(torch.tensor([value], device=predictor.history.device) for value in triple))
    elapsed = torch.full_like(triples.subject, origin - index.first_time)
    groups = list(_groups(predictor, triple, origin))
    if not groups or int(elapsed) < 1:
        return (), ()
    states = index.states(triples, elapsed)
    whole = _log_intensity(events, index, triples, states, index.bag(triples, elapsed), elapsed)
    changes = [whole - _without(events, index, triples, states, elapsed, group.name) for group in groups]

    def strongest(changes: list[float], least: float) -> tuple[Reason, ...]:
        total = sum(max(change, 0.0) for change in changes)
        found = sorted(zip(changes, groups, strict=True), key=lambda item: -item[0])
        return tuple(
            Reason((predictor.describe(group.edge, window.start),), change / total, count=group.number)
            for change, group in found[:limit]
            if change >= least
        )

    return strongest(changes, MIN_CHANGE), strongest([-change for change in changes], MIN_INCREASE)


def _groups(predictor: Predictor, triple: tuple[int, int, int], origin: int) -> Iterator[_Group]:
    """Yield the groups with facts, each with its latest fact."""
    subject, relation, object = triple
    inverse = predictor.vocabulary.inverse(relation)
    for entity, other, own, names in (
        (subject, object, relation, ("fact", "pair", "reversed fact", "reversed pair", "subject and relation")),
        (object, subject, inverse, (None, None, None, None, "object and relation")),
    ):
        device = predictor.history.device
        edges = predictor.history.all_before(
            torch.tensor([entity], device=device), torch.tensor([origin], device=device)
        )
        with_other = edges.object == other
        forward = edges.relation < predictor.vocabulary.num_relations
        same = edges.relation == own
        reverse = edges.relation == predictor.vocabulary.inverse(own)
        masks = (
            with_other & same, with_other & forward & ~same, with_other & reverse, with_other & ~forward & ~reverse,
            same & ~with_other,
        )  # fmt: skip
        for name, mask in zip(names, masks, strict=True):
            if name is not None and bool(mask.any()):
                place = int(mask.nonzero()[-1])
                latest = Edge(entity, int(edges.relation[place]), int(edges.object[place]), int(edges.time[place]))
                yield _Group(name, latest, int(mask.sum()))


def _without(
    events: EventModel, index: EventIndex, triples: Triples, states: dict[str, GroupState], elapsed: Tensor, name: str
) -> float:
    """Return the log intensity without a group of facts."""
    left_out = states[name].minus(states[NARROWER[name]]) if name in NARROWER else states[name]
    changed = {key: state.minus(left_out) if key in PARTS[name] else state for key, state in states.items()}
    bag = index.bag(triples, elapsed)
    relation = int(triples.relation)
    forward = bag.relation < index.num_relations
    own, reverse = bag.relation == relation, bag.relation == relation + index.num_relations
    gone = {
        "fact": own, "reversed fact": reverse, "pair": forward & ~own, "reversed pair": ~forward & ~reverse,
    }.get(name, torch.zeros_like(own))  # fmt: skip
    kept = (~gone).nonzero()[:, 0]
    bag = Bag(torch.tensor([0, len(kept)], device=kept.device), bag.relation[kept], bag.weight[kept], bag.age[kept])
    return _log_intensity(events, index, triples, changed, bag, elapsed, forget=name == "fact")


@torch.inference_mode()
def _log_intensity(
    events: EventModel,
    index: EventIndex,
    triples: Triples,
    states: dict[str, GroupState],
    bag: Bag,
    elapsed: Tensor,
    *,
    forget: bool = False,
) -> float:
    features = index.features(states, elapsed)
    ahead = torch.ones_like(elapsed)
    target = index.target_features(triples, states["fact"], elapsed, ahead, forget=forget)
    relation = triples.relation
    found = [
        network(network.encode(features, relation, network.pool(bag)), relation, network.recall(bag, ahead), target)
        for network in events.intensity_networks
    ]
    return float(torch.stack(found).mean(dim=0)[0, 0])
