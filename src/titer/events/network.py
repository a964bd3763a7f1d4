"""The network that turns counts into intensities."""

import torch
from torch import Tensor, nn

from titer.events.counts import MEAN_RATE, SCALE
from titer.events.index import NUM_ORIGIN_FEATURES, NUM_TARGET_FEATURES
from titer.events.triples import BAG_HORIZONS, Bag

AGES = (1, 2, 3, 4, 6, 7, 8, 14, 21, 30)
"""Largest age, in time steps, of each group of ages that a network distinguishes; older facts are left out."""
AGED_DIM = 8
"""Numbers that a network has for each directed relation of these facts."""
MAX_LOG_INTENSITY = 2.2
"""No probability is above 1 - exp(-exp(2.2)), which is 99.99 %."""


class IntensityNetwork(nn.Module):
    r"""Log intensities of facts at a step ahead: of any occurrence, and of the first since the forecast.

    With the features x of a fact (decayed counts of all groups it belongs to, see ``EventIndex``), its relation r, the
    earlier facts B between its entities, their embeddings v added up by how old they will be in the forecast step
    (a), and the features y of this step:

    $$
    \log \lambda = \log \bar{\lambda} + f\Big(g\Big(x, e_r, \sum_{r' \in B} w_{r'} e_{r'}\Big),
    \sum_{r' \in B} v_{r'} \otimes a, y\Big)
    $$

    with two small networks f and g, and the mean \(\bar{\lambda}\) of the fact's rates at several horizons.
    """

    mean: Tensor
    deviation: Tensor
    ages: Tensor

    def __init__(self, num_relations: int, hidden: int = 64, dim: int = 16):
        super().__init__()
        self.register_buffer("mean", torch.zeros(NUM_ORIGIN_FEATURES))
        self.register_buffer("deviation", torch.ones(NUM_ORIGIN_FEATURES))
        self.relation = nn.Embedding(num_relations, dim)
        self.query = nn.Embedding(num_relations, dim)
        self.past = nn.Parameter(torch.randn(len(BAG_HORIZONS), 2 * num_relations, dim) * 0.05)
        self.mix = nn.Linear(len(BAG_HORIZONS) * dim, dim)
        inputs = NUM_ORIGIN_FEATURES + dim * (len(BAG_HORIZONS) + 2)
        self.trunk = nn.Sequential(nn.Linear(inputs, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU())
        last = nn.Linear(hidden, 2)
        nn.init.zeros_(last.weight[1])
        self.register_buffer("ages", torch.tensor(AGES), persistent=False)
        self.aged = nn.Parameter(torch.randn(2 * num_relations, AGED_DIM) * 0.05)
        self.blend = nn.Linear(len(AGES) * AGED_DIM, dim, bias=False)
        self.asked = nn.Embedding(num_relations, dim)
        inputs = hidden + NUM_TARGET_FEATURES + 2 * dim
        self.head = nn.Sequential(nn.Linear(inputs, hidden), nn.SiLU(), last)
        self.bias = nn.Embedding(num_relations, 2)
        self.dropout = nn.Dropout(0.1)
        # Relations with their ages are nearly unique to a time step, so a network could learn what happened there.
        self.strong_dropout = nn.Dropout(0.5)
        for embedding, deviation in ((self.relation, 0.1), (self.query, 0.3), (self.asked, 0.3), (self.bias, 0.0)):
            nn.init.normal_(embedding.weight, std=deviation)

    def normalise(self, features: Tensor) -> None:
        """Set the mean and deviation of the inputs to those of some features."""
        self.mean.copy_(features.mean(dim=0))
        self.deviation.copy_(features.std(dim=0) + 0.01)

    def pool(self, bag: Bag) -> Tensor:
        """Return the embedded earlier facts of each entry of a bag. (entries, len(BAG_HORIZONS) * dim)"""
        return torch.cat(
            [
                nn.functional.embedding_bag(
                    bag.relation, weight, bag.offset[:-1], mode="sum", per_sample_weights=bag.weight[:, place]
                )
                for place, weight in enumerate(self.past)
            ],
            dim=1,
        )

    def encode(self, features: Tensor, relation: Tensor, pooled: Tensor) -> Tensor:
        """Return what does not depend on the step ahead, and the log mean rate last. (triples, hidden + 1)"""
        scaled = ((features - self.mean) / self.deviation).clamp(-8, 8)
        inputs = [scaled, self.dropout(self.relation(relation)), self.dropout(pooled)]
        code = self.trunk(torch.cat([*inputs, self.mix(pooled) * self.query(relation)], dim=1))
        return torch.cat([code, SCALE * features[:, MEAN_RATE, None]], dim=1)

    def recall(self, bag: Bag, ahead: Tensor) -> Tensor:
        """Return the embedded earlier facts of each entry of a bag by their age at a step ahead. (entries, dim)"""
        age = bag.age + torch.repeat_interleave(ahead, bag.offset.diff()) - 1
        group = torch.bucketize(age, self.ages)
        number = len(bag.offset) - 1
        row = torch.repeat_interleave(torch.arange(number, device=age.device), bag.offset.diff())
        kept = (group < len(AGES)).nonzero()[:, 0]
        place = row[kept] * len(AGES) + group[kept]
        pooled = torch.zeros(number * len(AGES), AGED_DIM, device=age.device)
        pooled = pooled.index_add(0, place, self.aged[bag.relation[kept]])
        return self.blend(self.strong_dropout(pooled.view(number, len(AGES) * AGED_DIM)))

    def forward(self, code: Tensor, relation: Tensor, recalled: Tensor, target: Tensor) -> Tensor:
        """Return log intensities of any occurrence and of the first, at the step of the targets. (triples, 2)"""
        recalled = self.dropout(recalled)
        inputs = [self.dropout(code[:, :-1]), target, recalled, recalled * self.asked(relation)]
        found = self.head(torch.cat(inputs, dim=1)) + self.bias(relation)
        # The first occurrence differs from any only where there is reason to: events that come together, lasting facts.
        found = torch.stack([found[:, 0], found[:, 0] + found[:, 1]], dim=1) + code[:, -1:]
        return found.clamp(max=MAX_LOG_INTENSITY)


def negative_log_likelihood(log_intensity: Tensor, happened: Tensor) -> Tensor:
    """Return -log P of what happened, where P(happens) = 1 - exp(-intensity)."""
    intensity = torch.exp(log_intensity)
    return torch.where(happened, -torch.log(-torch.expm1(-intensity) + 1e-9), intensity)
