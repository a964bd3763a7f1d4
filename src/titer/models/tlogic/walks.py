"""Rules from random walks that go back in time and end where they began."""

import numpy as np

from titer.data.vocabulary import Vocabulary
from titer.models.tlogic.config import MAX_LENGTH, TRANSITION_RATES, TLogicConfig
from titer.models.tlogic.edges import Ids, TrainingEdges, grouped_by
from titer.models.tlogic.rules import NO_RELATION, RuleForms, same_variables


class WalkSampler:
    """Draws cyclic walks over the edges of training.

    The first edge of a walk becomes the head of a rule. The next edge is strictly earlier, every further one not later
    than the one before it, and the last one leads back to the entity at which the walk began. No edge is followed by
    its own reverse. Reversed, the edges after the first are the body of the rule.
    """

    def __init__(self, edges: TrainingEdges, vocabulary: Vocabulary, config: TLogicConfig):
        self.edges, self.vocabulary, self.config = edges, vocabulary, config
        rate = TRANSITION_RATES[config.transition]
        self.by_subject = grouped_by(edges, edges.subject, rate)
        self.by_pair = grouped_by(edges, self._pair(edges.subject, edges.object), rate)
        self.by_relation = grouped_by(edges, edges.relation)

    def _pair(self, subject: Ids, object: Ids) -> Ids:
        return subject * self.edges.num_entities + object

    def rules(self, rng: np.random.Generator) -> RuleForms:
        """Return the distinct rules of all walks, for every relation and length."""
        return RuleForms.distinct([self.rules_of_length(length, rng) for length in sorted(self.config.rule_lengths)])

    def rules_of_length(self, length: int, rng: np.random.Generator) -> RuleForms:
        """Return a rule for every walk with so many edges after the first; walks that do not close give none."""
        edges = self.edges
        relations = np.repeat(self.by_relation.groups, self.config.num_walks)
        first = self.by_relation.draw_from(relations, np.zeros_like(relations), rng)
        walk = [first]
        for hop in range(1, length + 1):
            last = walk[-1]
            entity, elapsed = edges.object[last], edges.elapsed[last]
            if hop == 1:
                elapsed, skipped = elapsed - 1, np.full_like(last, -1)
            else:
                skipped = last ^ 1  # the other direction of the same fact
            if hop == length:
                drawn = self.by_pair.draw_up_to(self._pair(entity, edges.subject[walk[0]]), elapsed, skipped, rng)
            else:
                drawn = self.by_subject.draw_up_to(entity, elapsed, skipped, rng)
            found = drawn >= 0
            walk = [edge[found] for edge in [*walk, drawn]]
        body_edges = [edge ^ 1 for edge in walk[:0:-1]]  # reversed: in order of time, from the subject to the object
        body = np.full((len(walk[0]), MAX_LENGTH), NO_RELATION)
        body[:, :length] = np.stack([edges.relation[edge] for edge in body_edges], axis=1)
        entities = [edges.subject[body_edges[0]], *(edges.object[edge] for edge in body_edges)]
        return RuleForms(edges.relation[walk[0]], body, same_variables(np.stack(entities, axis=1)))
