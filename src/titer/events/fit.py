"""Train the networks of event forecasts."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from titer.events.config import EventConfig
from titer.events.counts import MEAN_RATE, SCALE
from titer.events.index import EventIndex
from titer.events.network import IntensityNetwork, negative_log_likelihood
from titer.events.novelty import Novelty, NoveltyNetwork
from titer.events.pairings import Pairings
from titer.events.rows import Rows, inputs_of, sample_new_rows, sample_rows
from titer.progress import track
from titer.training.optimisers import EagerAdamW

FIRST_WEIGHT = 0.5
"""Weight of the likelihood of first occurrences beside that of any occurrence."""

WARM_UP = 0.2
"""Share of the optimisation steps in which the learning rate rises."""
FOCUS = 0.05
"""Rate of a fact that counts half: below it, examples count the less the rarer they are."""
MAX_PASSES = 20
"""Maximum number of passes over few examples."""


def fit_intensity(index: EventIndex, end: int, config: EventConfig, networks: list[IntensityNetwork]) -> None:
    """Train the intensities of facts on steps before ``end``; each network sees the examples in an order of its own."""
    generator = torch.Generator().manual_seed(config.seed)
    repeated = sample_rows(index, end, _num_rows(index, config), generator)
    rows = Rows.concatenate(repeated, sample_new_rows(Pairings(index), end, config, generator))
    if len(rows) == 0:
        return
    features, bag, targets = inputs_of(index, rows.triples, rows.elapsed, rows.ahead)
    relation = rows.triples.relation
    focus = torch.where(torch.arange(len(rows), device=relation.device) < len(repeated), _focus(features), 1.0)
    weight = rows.weight * focus
    scale = len(rows) / float(weight[rows.happened].sum().clamp(min=1))

    def train(network: IntensityNetwork, number: int) -> None:
        def loss(batch: Tensor) -> Tensor:
            past = bag[batch]
            code = network.encode(features[batch], relation[batch], network.pool(past))
            found = network(code, relation[batch], network.recall(past, rows.ahead[batch]), targets[batch])
            errors = negative_log_likelihood(found, rows.happened[batch][:, None])  # (batch, 2)
            first = FIRST_WEIGHT * rows.is_first[batch]
            return ((errors[:, 0] + first * errors[:, 1]) * weight[batch]).mean() * scale

        network.normalise(features)
        seed = config.seed + number - 1
        torch.manual_seed(seed)  # of the dropout
        _optimise(network, len(rows), loss, config, seed, f"event model, network {number} of {len(networks)}")

    for number, network in enumerate(networks, start=1):
        train(network, number)


def fit_novelty(novelty: Novelty, end: int, config: EventConfig, network: NoveltyNetwork) -> None:
    """Train the expected number of new facts of directed pairs, on steps before ``end``."""
    generator = torch.Generator().manual_seed(config.seed)
    start = max(1, end // 10)
    per_step = _num_rows(novelty.index, config) / 3 / max(end - start, 1)
    parts: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []
    for step in range(start, end):
        pair = novelty.before(step)
        elapsed = torch.full_like(pair, step)
        count = novelty.new_at(pair, elapsed)
        chance = torch.where(count > 0, 1.0, min(1.0, per_step / max(len(pair), 1)))
        drawn = torch.rand(len(pair), generator=generator).to(pair.device) < chance
        parts.append((pair[drawn], elapsed[drawn], count[drawn], 1 / chance[drawn]))
    if not parts:
        return
    pair, elapsed, count, weight = (torch.cat(column) for column in zip(*parts, strict=True))
    if len(pair) == 0:
        return
    features, relation = novelty.features(pair, elapsed), novelty.relation[pair]
    network.normalise(features)
    scale = len(pair) / float((count * weight).sum().clamp(min=1))

    def loss(batch: Tensor) -> Tensor:
        found = network(features[batch], relation[batch])
        return ((torch.exp(found) - count[batch] * found) * weight[batch]).mean() * scale

    torch.manual_seed(config.seed)
    _optimise(network, len(pair), loss, config, config.seed, "event model, new facts")


def _num_rows(index: EventIndex, config: EventConfig) -> int:
    wanted = max(config.rows_per_fact * len(index.fact_triple), config.min_rows)
    return min(wanted, config.num_rows)


def _focus(features: Tensor) -> Tensor:
    """Return how much examples count: those that hardly ever happen are many, and alike. (rows,)"""
    rate = torch.exp(features[:, MEAN_RATE] * SCALE)
    return rate / (rate + FOCUS)


def _optimise(
    network: nn.Module,
    num_rows: int,
    loss: Callable[[Tensor], Tensor],
    config: EventConfig,
    seed: int,
    description: str,
) -> None:
    """Minimise a loss over batches of rows with Adam; the learning rate rises, then falls to 0."""
    # Few examples in smaller batches: as many steps in less time.
    size = min(config.batch_size, max(num_rows // 150, 256), num_rows)
    per_epoch = math.ceil(num_rows / size)
    epochs = max(config.epochs, math.ceil(min(config.min_batches, MAX_PASSES * per_epoch) / per_epoch))
    optimiser = EagerAdamW(network.parameters(), lr=config.learning_rate, weight_decay=0.01, fused=True)
    device = next(network.parameters()).device
    network.train()
    total = epochs * per_epoch
    for done, batch in enumerate(track(_batches(num_rows, size, epochs, seed, device), description, total)):
        optimiser.param_groups[0]["lr"] = config.learning_rate * _schedule(done / total)
        optimiser.zero_grad()
        loss(batch).backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
    network.eval()


def _batches(num_rows: int, size: int, epochs: int, seed: int, device: torch.device) -> Iterator[Tensor]:
    """Yield the rows of every batch of all epochs."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        yield from torch.randperm(num_rows, generator=generator).to(device).split(size)


def _schedule(progress: float) -> float:
    """Return the factor of the learning rate: up to 1 in the first fifth, then down to 0 along a cosine."""
    rising = 0.04 + 0.96 * progress / WARM_UP
    return min(rising, 0.5 + 0.5 * math.cos(math.pi * max(progress - WARM_UP, 0) / (1 - WARM_UP)))
