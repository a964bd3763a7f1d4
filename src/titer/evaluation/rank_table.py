"""The ranks of an evaluation as a table, with a row for each query."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from titer.errors import TiterError
from titer.evaluation.result import Evaluation
from titer.files import atomic_path

FORMATS = (".parquet", ".csv")


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

    def names(ids: np.ndarray, of: list[str]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(ids, pa.int32()), pa.array(of, pa.string())).dictionary_decode()

    return pa.table(
        {
            "subject": names(subject, list(vocabulary.entities)),
            "relation": names(relation, list(vocabulary.relations)),
            "object": names(object, list(vocabulary.entities)),
            "time": names(place, [axis.label(int(step)) for step in steps]),
            "asks": names(asks_subject, ["object", "subject"]),
            "answer": names(found.answers.numpy(), list(vocabulary.entities)),
            "rank": found.ranks_under().numpy(),
            "reached": found.ranks.reached.numpy(),
            "top_probability": found.confidence.probability.numpy(),
            "top_is_right": found.confidence.correct.numpy(),
            "novelty": names(novelty, ["repeated", "new", "never_seen"]),
        }
    )


def check_rank_file(path: Path, *, overwrite: bool = False) -> None:
    """Raise an error if a file of ranks cannot be written.

    Raises:
        TiterError: If the format is unknown, or the file exists and may not be overwritten.
    """
    if path.suffix.lower() not in FORMATS:
        raise TiterError(f"{path}: ranks are written to files that end in {' or '.join(FORMATS)}")
    if path.exists() and not overwrite:
        raise TiterError(f"{path} already exists; choose another path or pass --overwrite")


def write_ranks(found: Evaluation, path: Path, *, overwrite: bool = False) -> None:
    """Write ``rank_table`` to a file, ``.parquet`` or ``.csv``.

    Args:
        found: The evaluation.
        path: The file.
        overwrite: Replace an existing file.

    Raises:
        TiterError: If the format is unknown, or the file exists and may not be overwritten.
    """
    check_rank_file(path, overwrite=overwrite)
    with atomic_path(path) as temporary:
        if path.suffix.lower() == ".csv":
            pacsv.write_csv(rank_table(found), str(temporary))
        else:
            pq.write_table(rank_table(found), temporary)
