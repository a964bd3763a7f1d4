"""All that can be computed for a first forecast step, before a window is chosen."""

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from titer.events.answers import MIN_LOG, PairAnswers, score_pairs
from titer.events.config import EventConfig
from titer.events.counts import GroupState
from titer.events.drift import Correction, Drift
from titer.events.estimates import Estimates
from titer.events.event_list import EventList
from titer.events.feature_table import FeatureTable
from titer.events.index import EventIndex
from titer.events.network import IntensityNetwork
from titer.events.new_facts import NewFacts, describe_new
from titer.events.novelty import Novelty, NoveltyNetwork
from titer.events.pairings import Pairings
from titer.events.triples import Triples
from titer.graph.history import History
from titer.models.base import Model

CHUNK = 1 << 15
"""Facts whose features are computed at once; bounds the memory."""
MAX_SCORES = 1 << 27
"""Scores of entities that are kept at once; with many entities, fewer pairs are scored."""
MIN_INTENSITY = 1e-9


@dataclass(frozen=True)
class Origin:
    """The candidates of forecasts that begin at one time step, with all facts before it."""

    table: FeatureTable  # of the repeated facts
    codes: list[Tensor]  # one for each network: (repeated, hidden)
    correction: Correction  # of the log intensities of the networks, by what the last steps say
    log_intensity: Tensor  # (repeated,) in the first step
    estimates: Estimates  # of the repeated facts
    new: NewFacts  # candidates that never occurred
    answers: PairAnswers
    pair: Tensor  # (pairs,) sorted keys of the directed pairs with a fact
    intensity: Tensor  # (pairs,) expected facts in the first step
    novelty: Tensor  # (pairs,) expected facts in the first step that never occurred
    lists: dict[tuple[int, int], EventList] = field(default_factory=dict[tuple[int, int], EventList])
    """Forecasts of all candidates, by the first and the last step of a window."""

    @property
    def elapsed(self) -> int:
        """The first forecast step, in time steps since the first fact."""
        return self.table.elapsed

    @property
    def repeated(self) -> Triples:
        """The facts that occurred before."""
        return self.table.triples

    @property
    def fact(self) -> GroupState:
        """The state of the repeated facts."""
        return self.table.fact

    def pair_values(self, pair: Tensor, values: Tensor) -> Tensor:
        """Return a value of each directed pair; the smallest for a pair without facts."""
        if len(self.pair) == 0:
            return torch.full(pair.shape, MIN_INTENSITY, device=pair.device)
        place = torch.searchsorted(self.pair, pair).clamp(max=len(self.pair) - 1)
        return torch.where(self.pair[place] == pair, values[place], values.min())


@torch.inference_mode()
def prepare_origin(
    networks: list[IntensityNetwork],
    novelty_network: NoveltyNetwork,
    index: EventIndex,
    novelty: Novelty,
    pairings: Pairings,
    drift: Drift,
    model: Model,
    history: History,
    time: int,
    config: EventConfig,
) -> Origin:
    """Compute the intensities of all facts that occurred before a time step, and candidates for new ones."""
    table = FeatureTable(index, max(time - index.first_time, 0))
    codes = _encode(networks, table)
    rows = torch.arange(len(table.place), device=table.place.device)
    correction = drift.before(networks, table.elapsed)
    log_intensity = correction(log_intensities(networks, table, codes, rows, 1), table.triples.relation)[:, 0]
    pair, intensity, expected_new = _pairs(index, novelty, novelty_network, table.triples, log_intensity, table.elapsed)
    number = min(config.num_queries, MAX_SCORES // index.num_entities)
    best = _busiest(pair, intensity, expected_new, index, number)
    answers = score_pairs(model, history, best, time)
    none = _nothing(table.triples[:0])
    partial = Origin(
        table, codes, correction, log_intensity, none, NewFacts(table.triples[:0], none, none.known[:, 0], codes),
        answers, pair, intensity, expected_new,
    )  # fmt: skip
    unknown = without_known(answers, partial, index)
    new = new_candidates(unknown, partial, index, config.new_per_query)
    new = _union(index, new, pairings.before(table.elapsed, config.new_relations).triples)
    estimates = estimate(partial, index, new, expected_new, unknown)
    return replace(
        partial,
        estimates=estimate(partial, index, table.triples, intensity, answers),
        new=describe_new(networks, table, new, estimates),
    )


def _union(index: EventIndex, first: Triples, second: Triples) -> Triples:
    """Return the triples of both, each once."""
    both = Triples.concatenate(first, second)
    return index.triples_of(torch.unique(index.key(both)))


def _nothing(triples: Triples) -> Estimates:
    empty = triples.subject.new_zeros(len(triples), dtype=torch.float32)
    return Estimates(empty, empty, triples.subject.new_zeros((len(triples), 2), dtype=torch.bool))


def _encode(networks: list[IntensityNetwork], table: FeatureTable) -> list[Tensor]:
    """Return the code of all rows of a table, for each network."""
    pooled = [network.pool(table.bag) for network in networks]
    codes: list[list[Tensor]] = [[] for _ in networks]
    for start in range(0, max(len(table.place), 1), CHUNK):
        rows = slice(start, start + CHUNK)
        features, relation, pair = table.features(rows), table.triples.relation[rows], table.pair(rows)
        for code, network, past in zip(codes, networks, pooled, strict=True):
            code.append(network.encode(features, relation, past[pair]))
    return [torch.cat(code) for code in codes]


def log_intensities(
    networks: list[IntensityNetwork], table: FeatureTable, codes: list[Tensor], rows: Tensor, ahead: int
) -> Tensor:
    """Return the mean log intensities of rows at a step ahead: of any occurrence, and of the first. (rows, 2)"""
    parts: list[Tensor] = []
    for part in rows.split(CHUNK):
        target, relation = table.step_features(part, ahead), table.triples.relation[part]
        recalled = table.recall(networks, table.pair(part), ahead)
        found = [
            network(code[part], relation, past, target)
            for network, code, past in zip(networks, codes, recalled, strict=True)
        ]
        parts.append(torch.stack(found).mean(dim=0))
    return torch.cat(parts)


def _pairs(
    index: EventIndex,
    novelty: Novelty,
    network: NoveltyNetwork,
    triples: Triples,
    log_intensity: Tensor,
    elapsed: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the directed pairs with a fact, their expected facts, and their expected new facts."""
    place = novelty.before(elapsed)
    tables = novelty.tables(elapsed)
    parts = [
        torch.exp(network(novelty.features_in(tables, rows), novelty.relation[rows])) for rows in place.split(CHUNK)
    ]
    new = torch.cat(parts) if parts else torch.zeros(0, device=place.device)
    pair = novelty.pairs[place]
    total, rate = new.clone(), torch.exp(log_intensity)
    for key in directed_pairs(index, triples):
        total.index_add_(0, torch.searchsorted(pair, key), rate)
    return pair, total, new


def directed_pairs(index: EventIndex, triples: Triples) -> tuple[Tensor, Tensor]:
    """Return the keys of (subject, relation) and (object, inverse relation)."""
    directed = 2 * index.num_relations
    return (
        triples.subject * directed + triples.relation,
        triples.object * directed + triples.relation + index.num_relations,
    )


def is_forward(index: EventIndex, origin: Origin) -> Tensor:
    """Return which directed pairs of an origin are of a subject. (pairs,)"""
    return origin.pair % (2 * index.num_relations) < index.num_relations


def _busiest(pair: Tensor, intensity: Tensor, new: Tensor, index: EventIndex, number: int) -> Tensor:
    """Return the pairs with the most expected facts, and those with the most expected new facts, of each direction."""
    is_inverse = pair % (2 * index.num_relations) >= index.num_relations
    chosen: list[Tensor] = []
    for side in (~is_inverse, is_inverse):
        rows = side.nonzero()[:, 0]
        for values in (intensity, new):
            best = values[rows].topk(min(number // 4, len(rows))).indices
            chosen.append(pair[rows[best]])
    return torch.cat(chosen)


def estimate(origin: Origin, index: EventIndex, triples: Triples, intensity: Tensor, answers: PairAnswers) -> Estimates:
    """Return the estimates of facts through the model."""
    first, second = directed_pairs(index, triples)
    forward, known_first = answers.of(first, triples.object)
    backward, known_second = answers.of(second, triples.subject)
    return Estimates(
        forward + torch.log(origin.pair_values(first, intensity) + MIN_INTENSITY),
        backward + torch.log(origin.pair_values(second, intensity) + MIN_INTENSITY),
        torch.stack([known_first, known_second], dim=1),
    )


def without_known(answers: PairAnswers, origin: Origin, index: EventIndex) -> PairAnswers:
    """Return answers without those that occurred before, their probabilities summing to 1 again."""
    log_probability = answers.log_probability.clone()
    if len(answers.pair):
        for key, answer in zip(
            directed_pairs(index, origin.repeated), (origin.repeated.object, origin.repeated.subject), strict=True
        ):
            place = torch.searchsorted(answers.pair, key).clamp(max=len(answers.pair) - 1)
            known = (answers.pair[place] == key).nonzero()[:, 0]
            log_probability[place[known], answer[known]] = -torch.inf
        # A floor, so that pairs whose past answers have nearly all of the probability are not inflated.
        total = torch.logsumexp(log_probability, dim=1, keepdim=True).clamp(min=-3.0)
        log_probability = (log_probability - total).clamp(min=MIN_LOG)
    return PairAnswers(answers.pair, log_probability)


def new_candidates(answers: PairAnswers, origin: Origin, index: EventIndex, number: int) -> Triples:
    """Return the most likely facts that never occurred, of all scored pairs; ``answers`` are without known ones."""
    if len(answers.pair) == 0:
        return origin.repeated[:0]
    number = min(number, answers.log_probability.shape[1])
    best = answers.log_probability.topk(number, dim=1)
    row, column = (best.values > MIN_LOG).nonzero(as_tuple=True)
    entity, answer = answers.pair[row] // (2 * index.num_relations), best.indices[row, column]
    directed = answers.pair[row] % (2 * index.num_relations)
    inverse = directed >= index.num_relations
    found = Triples(
        torch.where(inverse, answer, entity), directed % index.num_relations, torch.where(inverse, entity, answer)
    )
    key = torch.unique(index.key(found[found.subject != found.object]))
    found = index.triples_of(key)
    return found[(~index.occurred(found, origin.elapsed)).nonzero()[:, 0]]
