"""The ranks of an evaluation as a table, with a row for each query."""

import numpy as np
import pyarrow as pa

from titer.data.export import names_of
from titer.evaluation.result import Evaluation


def rank_table(found: Evaluation) -> pa.Table:
    """Return a table with a row for each query of an evaluation.

    Args:
        found: The evaluation.

    Returns:
        The fact in names; ``asks`` (``object`` or ``subject``), ``answer``; ``rank`` under the protocol, and whether
        the model scores the answer (``reached``); probability of the top answer and whether it is right; ``novelty``
        (``repeated``, ``new`` or ``never_seen``).
    """
    vocabulary, axis = found.dataset.vocabulary, found.dataset.axis
    subject, relation, object, time = (column.numpy() for column in found.facts())
    asks_subject = vocabulary.is_inverse(found.queries.relation).numpy()
    steps, place = np.unique(time, return_inverse=True)
    novelty = np.where(found.novelty_masks()["repeated"].numpy(), 0, 1)
    novelty[found.novelty_masks()["never_seen"].numpy()] = 2

    return pa.table(
        {
            "subject": names_of(subject, vocabulary.entities),
            "relation": names_of(relation, vocabulary.relations),
            "object": names_of(object, vocabulary.entities),
            "time": names_of(place, [axis.label(int(step)) for step in steps]),
            "asks": names_of(asks_subject.astype(np.int32), ["object", "subject"]),
            "answer": names_of(found.answers.numpy(), vocabulary.entities),
            "rank": found.ranks_under().numpy(),
            "reached": found.ranks.reached.numpy(),
            "top_probability": found.confidence.probability.numpy(),
            "top_is_right": found.confidence.correct.numpy(),
            "novelty": names_of(novelty, ["repeated", "new", "never_seen"]),
        }
    )
