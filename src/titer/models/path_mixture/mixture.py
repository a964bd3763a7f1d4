"""One mixture: the prior, the paths, and the trust in the paths to an answer."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from titer.models.base import UNREACHED
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.direct import Direct
from titer.models.path_mixture.loss import prior_matrix
from titer.models.path_mixture.names import Names
from titer.models.path_mixture.paths import MAX_LOG_WEIGHT, GroupedPaths, Paths, ThreeHopsSame, TwoHops, TwoHopsSame
from titer.models.path_mixture.prior import EntityStates, Prior, PriorParts
from titer.models.path_mixture.query_batch import QueryBatch
from titer.models.path_mixture.reached import Reached
from titer.models.path_mixture.trust import PairInputs, Trust

TINY = 1e-9
"""Added to a sum of weights before its logarithm is used as a weight."""


@dataclass(frozen=True)
class Weights:
    """The weights of answers: the prior of every candidate, and the weights along paths of those that paths reach."""

    parts: PriorParts
    matrix: Tensor | None  # (queries, known + 1) π of all candidates; None if it is computed in blocks
    prior: Tensor  # (reached,) π of each reached answer
    row: Tensor  # (reached,) the query of each reached answer
    column: Tensor  # (reached,) the column of the answer
    at: Tensor  # (reached,) its position in the flattened prior
    paths: Tensor  # (reached,) the total weight of all paths
    along: Tensor  # (reached,) log of e^φ Σ w, bounded from above
    longer: tuple[Paths | GroupedPaths, ...]  # the paths of two and more hops

    @property
    def entities(self) -> EntityStates:
        """The candidates: a column for each entity with a past fact, and a last one for all others."""
        return self.parts.entities

    def parts_of(self, batch: QueryBatch, answer: int) -> tuple[float, float, float]:
        """Return π, the log of e^φ Σ w, and Σ w of one answer to the first query."""
        column = self.entities.row(batch, torch.tensor([answer], device=self.column.device))
        pair = ((self.column == column) & (self.row == 0)).nonzero()[:, 0]
        prior = float(self._prior(int(column), int(column) + 1)[0, 0])
        # No path leads to an entity without a past fact.
        if len(pair) == 0:
            return prior, UNREACHED, 0.0
        return prior, float(self.along[pair]), float(self.paths[pair])

    def log_weights(self, start: int, end: int) -> Tensor:
        """Return log(e^π + e^φ Σ w) of some columns. (queries, end - start)"""
        block = self._prior(start, end)
        combined = torch.logaddexp(self.prior, self.along)
        inside = ((self.column >= start) & (self.column < end)).nonzero()[:, 0]
        if len(inside) == len(self.column):
            index = self.row * (end - start) + self.column - start
        else:
            index = self.row.index_select(0, inside) * (end - start) + self.column.index_select(0, inside) - start
            combined = combined.index_select(0, inside)
        block.view(-1).index_copy_(0, index, combined)
        return block

    def _prior(self, start: int, end: int) -> Tensor:
        """Return a new tensor with π of some columns. (queries, end - start)"""
        if self.matrix is None:
            return self.parts.block(start, end)
        return self.matrix[:, start:end].clone(memory_format=torch.contiguous_format)


class Mixture(nn.Module):
    r"""The weight of an answer: the sum of a prior and the weights of all paths that lead to it.

    .. math::
        P(o \mid s, r, t) \propto e^{\pi(s, r, o)} + e^{\varphi(s, r, o)} \sum_{p: s \to o} w(p)
    """

    def __init__(self, num_entities: int, num_relations: int, config: PathMixtureConfig):
        super().__init__()
        self.prior = Prior(num_entities, num_relations, config)
        self.direct = Direct(num_relations) if config.direct else None
        longer: list[nn.Module] = []
        if config.two_hops:
            longer.append(TwoHops(num_relations, config))
        if config.same_relation:
            longer += [TwoHopsSame(num_relations, config), ThreeHopsSame(num_relations, config)]
        self.longer = nn.ModuleList(longer)
        self.trust = Trust(num_relations, config) if config.trust else None

    @property
    def names(self) -> Names | None:
        """The embeddings of names, if the mixture has them."""
        return self.prior.fit.names if self.prior.fit is not None else None

    def forward(self, batch: QueryBatch, trained: Tensor) -> Weights:
        """Return the weights of all answers to queries of one time step."""
        parts = self.prior(batch, trained)
        facts = batch.past_facts
        longer = tuple(kind(batch) for kind in self.longer)
        reached = Reached(len(batch), batch.num_entities, [facts.ends, *(paths.ends for paths in longer)])
        fact_slots = reached.slots[0]
        weight = (
            self.direct(batch, facts) if self.direct is not None else torch.zeros_like(facts.query, dtype=torch.float)
        )
        direct = torch.zeros(len(reached), device=weight.device)
        direct = direct.index_add(0, fact_slots.index_select(0, facts.series_end), weight)
        kinds = [direct]
        kinds += [paths.total(slots, len(reached)) for paths, slots in zip(longer, reached.slots[1:], strict=True)]
        total = torch.stack(kinds).sum(dim=0)

        entities, relation = parts.entities, batch.relations.place
        column = entities.row(batch, reached.answer)
        at = reached.row * (entities.num_known + 1) + column
        if isinstance(parts.frequency, Tensor):
            matrix, prior = prior_matrix(parts.frequency, relation, parts.query, entities.as_answer, at)
            of_relation = relation.index_select(0, reached.row) * (entities.num_known + 1) + column
            frequency = parts.frequency.view(-1).index_select(0, of_relation)
        else:
            matrix, (prior, frequency) = None, parts.at(reached.row, column)
        log_total = torch.log(total + TINY)
        if self.trust is not None:
            inputs = PairInputs(kinds, prior, frequency, entities.activity[:, 3].index_select(0, column))
            known = (facts, fact_slots, weight, parts.subject_activity)
            log_total = log_total + self.trust(batch, reached, inputs, *known)
        along = torch.where(total > 0, log_total.clamp(max=MAX_LOG_WEIGHT), UNREACHED)
        return Weights(parts, matrix, prior, reached.row, column, at, total, along, longer)
