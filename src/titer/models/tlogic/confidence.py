"""The confidence of rules, estimated on sampled groundings of their bodies."""

import numpy as np
from numpy.typing import NDArray

from titer.models.tlogic.edges import Ids, TrainingEdges, grouped_by
from titer.models.tlogic.rules import RuleForms, same_variables
from titer.progress import track

RULES_AT_ONCE = 2048
MIX = np.uint64(0x9E3779B97F4A7C15)


class ConfidenceEstimator:
    """Counts in how many sampled groundings of a body the head holds later.

    A grounding is drawn hop by hop: the first fact from all facts of the first relation, every further one from the
    facts of its relation that begin at the entity reached, not earlier than the fact before it. The confidence of a
    rule is the share of the distinct groundings drawn (the body support) after which the head holds (the rule support).
    """

    def __init__(self, edges: TrainingEdges, num_samples: int):
        self.edges, self.num_samples = edges, num_samples
        self.by_relation = grouped_by(edges, edges.relation)
        self.by_subject = grouped_by(edges, self._subject_key(edges.subject, edges.relation))
        series = self._series_key(edges.subject, edges.relation, edges.object)
        self.series, number = np.unique(series, return_inverse=True)
        self.last = np.zeros(len(self.series), dtype=np.int64)  # the time of the last fact of each series
        np.maximum.at(self.last, number.reshape(-1), edges.elapsed)

    def _subject_key(self, subject: Ids, relation: Ids) -> Ids:
        return subject * self.edges.num_relations + relation

    def _series_key(self, subject: Ids, relation: Ids, object: Ids) -> Ids:
        return self._subject_key(subject, relation) * self.edges.num_entities + object

    def supports(self, rules: RuleForms, rng: np.random.Generator) -> tuple[Ids, Ids]:
        """Return the body support and the rule support of every rule. (rules,) each"""
        body_support, rule_support = (np.zeros(len(rules), dtype=np.int64) for _ in range(2))
        parts = [
            rows[start : start + RULES_AT_ONCE]
            for rows in (np.nonzero(rules.lengths == length)[0] for length in np.unique(rules.lengths))
            for start in range(0, len(rows), RULES_AT_ONCE)
        ]
        for rows in track(parts, "estimating the confidence of rules"):
            body_support[rows], rule_support[rows] = self._supports(rules[rows], rng)
        return body_support, rule_support

    def _supports(self, rules: RuleForms, rng: np.random.Generator) -> tuple[Ids, Ids]:
        """Return the supports of rules of one length."""
        samples = self.num_samples
        owner = np.repeat(np.arange(len(rules)), samples)
        hops = self._sample([np.repeat(column, samples) for column in rules.body[:, : rules.lengths[0]].T], rng)
        complete = hops[-1] >= 0
        hops = [np.where(complete, hop, 0) for hop in hops]
        entities = [self.edges.subject[hops[0]], *(self.edges.object[hop] for hop in hops)]
        required = rules.same[owner]
        constrained = (required != np.arange(required.shape[1])).any(axis=1)
        complete &= ~constrained | (same_variables(np.stack(entities, axis=1)) == required).all(axis=1)
        complete &= self._is_first(hops, complete)
        holds = complete & self._holds_later(rules.head[owner], entities[0], entities[-1], self.edges.elapsed[hops[-1]])
        return complete.reshape(-1, samples).sum(axis=1), holds.reshape(-1, samples).sum(axis=1)

    def _sample(self, body: list[Ids], rng: np.random.Generator) -> list[Ids]:
        """Return the edges of a random grounding of each body, hop by hop; -1 from where it cannot be completed."""
        hops = [self.by_relation.draw_from(body[0], np.zeros_like(body[0]), rng)]
        for relation in body[1:]:
            last = hops[-1]
            key = self._subject_key(self.edges.object[last], relation)
            drawn = self.by_subject.draw_from(key, self.edges.elapsed[last], rng)
            hops.append(np.where(last >= 0, drawn, -1))
        return hops

    def _is_first(self, hops: list[Ids], complete: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which groundings are the first of their kind among the samples of their rule."""
        code = np.zeros(len(complete), dtype=np.uint64)
        for hop in hops:  # equal groundings have equal codes; others practically never do
            code = (code ^ hop.astype(np.uint64)) * MIX
            code ^= code >> np.uint64(29)
        # Odd for complete groundings, so that no other one can have the same code.
        code = np.where(complete, code | np.uint64(1), np.uint64(0)).reshape(-1, self.num_samples)
        order = np.argsort(code, axis=1, kind="stable")
        ordered = np.take_along_axis(code, order, axis=1)
        first = np.ones_like(ordered, dtype=bool)
        first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
        result = np.empty_like(first)
        np.put_along_axis(result, order, first, axis=1)
        return result.reshape(-1)

    def _holds_later(self, head: Ids, subject: Ids, object: Ids, elapsed: Ids) -> NDArray[np.bool_]:
        """Return whether (subject, head, object) holds at some time after ``elapsed``."""
        key = self._series_key(subject, head, object)
        place = np.minimum(np.searchsorted(self.series, key), len(self.series) - 1)
        return (self.series[place] == key) & (self.last[place] > elapsed)
