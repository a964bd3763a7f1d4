"""The factor of the paths to an answer."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from titer.graph.count_features import NUM_FEATURES, no_features
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.dropout import Dropout
from titer.models.path_mixture.prior_plans import QueryPlan
from titer.models.path_mixture.reach import ReachPlan
from titer.models.path_mixture.relation_embedding import RelationEmbedding
from titer.models.path_mixture.trust_network import Shared, trust_network

NUM_KINDS = 4
SMALL = 1e-3
"""Added to a sum of weights before its logarithm is used as a feature."""


@dataclass(frozen=True)
class PairInputs:
    """What the trust network reads of each reached answer, apart from past facts between subject and answer."""

    kinds: list[Tensor]  # the total weight of each kind of path, (reached,) each
    prior: Tensor  # (reached,) π
    frequency: Tensor  # (reached,) the term of π that does not depend on the subject
    activity: Tensor  # (reached,) a feature of the answer's past facts


class Trust(nn.Module):
    """φ: a learned factor for the paths to an answer, computed from all past facts of the pair (s, o).

    All paths to an answer share one factor, so the share of each path in their sum does not depend on it.

    The first layer is linear in the concatenation of all inputs. It is computed as a sum: one term for each query, one
    for each pair (s, o) that has past facts, which all queries with the subject share, and one for each reached answer.
    """

    def __init__(self, num_relations: int, config: PathMixtureConfig):
        super().__init__()
        self.dim = config.relation_dim
        self.query = RelationEmbedding(num_relations, config.relation_dim, deviation=0.3)
        self.past = RelationEmbedding(num_relations, config.relation_dim, deviation=0.3)
        self.gate = nn.Linear(NUM_FEATURES, config.relation_dim)
        self.prior_share = nn.Parameter(torch.zeros(()))
        # The inputs, in this order: facts of the query's relation (weight, features), of all relations (features,
        # relations), kinds of paths, the subject's activity, prior, frequency and activity, the query's relation.
        self.sizes = (1 + NUM_FEATURES, NUM_FEATURES, self.dim, NUM_KINDS, NUM_FEATURES, 3, self.dim)
        self.network = nn.Sequential(
            nn.Linear(sum(self.sizes), 2 * config.hidden_dim),
            nn.ReLU(),
            Dropout(config.dropout / 2),
            nn.Linear(2 * config.hidden_dim, config.hidden_dim),
            nn.ReLU(),
            nn.Linear(config.hidden_dim, 1),
        )

    def forward(self, query: QueryPlan, plan: ReachPlan, inputs: PairInputs, fact_weight: Tensor) -> Tensor:
        """Return φ of the reached answers.

        Args:
            query: The queries.
            plan: The reached answers; all pairs with past facts are among them.
            inputs: What is known about each of them.
            fact_weight: The weight of each series of each query. Shape ``(query series,)``.

        Returns:
            Shape ``(reached,)``.
        """
        facts = plan.facts
        first, second, third = self.network[0], self.network[3], self.network[5]
        assert isinstance(first, nn.Linear)
        assert isinstance(second, nn.Linear)
        assert isinstance(third, nn.Linear)
        dropout = self.network[2]
        assert isinstance(dropout, Dropout)
        same, all_facts, relations, kinds, subject, values, relation = first.weight.split(self.sizes, dim=1)

        nothing = no_features(fact_weight.device)
        no_weight = _log(nothing.new_zeros(1))
        constant = same @ torch.cat([no_weight, nothing]) + all_facts @ nothing + first.bias
        of_query = constant + query.activity @ subject.T + self.query(query.relation) @ relation.T

        gated = self.past(facts.relation) * self.gate(facts.features)
        gated = torch.zeros(len(facts.pair_features), self.dim, device=gated.device).index_add(0, facts.pair, gated)
        of_facts = facts.pair_features @ all_facts.T + (gated / 3) @ relations.T

        # At most one series of a query's pair has the relation of the query.
        same_weight = _log(fact_weight.index_select(0, facts.same)) - no_weight
        of_same = torch.cat([same_weight[:, None], facts.same_features], dim=1) @ same.T

        columns = [_log(total) for total in inputs.kinds]
        # Kinds of paths that are switched off have no weight.
        columns += [no_weight.expand(len(plan.row))] * (NUM_KINDS - len(columns))
        columns += [inputs.prior / 5, inputs.frequency / 5, inputs.activity]
        of_pair = torch.stack(columns)  # (7, reached): thin matrices are multiplied faster this way
        weight = torch.cat([kinds, values], dim=1)

        rate = dropout.rate if self.training else 0.0
        kept = torch.is_grad_enabled()
        shared = Shared(plan.row, facts.query_pair, plan.pair_at, plan.same_at, rate, kept)
        layers = (second.weight, second.bias, third.weight[0])
        output = trust_network(of_query, of_facts, of_same, of_pair, weight, *layers, shared)
        return output + third.bias + self.prior_share * inputs.prior


def _log(total: Tensor) -> Tensor:
    return torch.log(total + SMALL) / 3
