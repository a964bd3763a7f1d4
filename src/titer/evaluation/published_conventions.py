"""The conventions by which the authors of models ranked answers, to give our results under the same ones."""

from dataclasses import dataclass

from titer.evaluation.evaluate import Evaluation, evaluate
from titer.evaluation.metrics import Metrics
from titer.evaluation.protocol import Past, Protocol, Ties, Unreachable
from titer.graph.filters import Filter
from titer.models.base import Model


@dataclass(frozen=True)
class PublishedConvention:
    """How the published code of a model ranks answers.

    Attributes:
        protocol: The protocol that comes closest to it.
        source: Where the convention was read.
        note: What the protocol cannot express; empty if nothing.
    """

    protocol: Protocol
    source: str
    note: str = ""


_ARBITRARY_TIES = "Equal scores are ranked in the arbitrary order of a sort, whose expectation are realistic ties."

_TANGO = PublishedConvention(Protocol(), "TemporalKGTeam/TANGO, eval.py", _ARBITRARY_TIES)

PUBLISHED_CONVENTIONS = {
    "cygnet": PublishedConvention(
        Protocol(filter=Filter.STATIC, past=Past.FROZEN_AT_TRAIN),
        "CunchaoZ/CyGNet, test.py and evolution.py",
        f"{_ARBITRARY_TIES} Facts of the training split are the only copy vocabulary.",
    ),
    "tango_distmult": _TANGO,
    "tango_tucker": _TANGO,
    "titer": PublishedConvention(
        Protocol(ties=Ties.OPTIMISTIC, unreachable=Unreachable.LAST), "JHL-HUST/TITer, utils/tester.py"
    ),
    "tlogic": PublishedConvention(
        Protocol(ties=Ties.OPTIMISTIC, unreachable=Unreachable.LAST),
        "liu-yushan/TLogic, mycode/evaluate.py",
        "Scores are rounded to single precision, so that answers with many rules are tied at 1.",
    ),
    "xerte": PublishedConvention(Protocol(unreachable=Unreachable.MISSED), "TemporalKGTeam/xERTE, tKGR/segment.py"),
}
"""The conventions by name of the model. A model that is not listed has none that was read in public code.

They are those of the authors' own code. The table of the TITer paper partly repeats figures of other papers, and does
not say by which code each of them was made.
"""


def under_published_convention(found: Evaluation, model: Model) -> tuple[Protocol, Metrics] | None:
    """Return the metrics of a model under the convention of its publication.

    Args:
        found: An evaluation of the model. The model scores the split again only if the convention has another filter or
            history.
        model: The evaluated model.

    Returns:
        The protocol of the convention and the metrics; None if no convention is known, or if its frozen history would
        include the evaluated split.
    """
    if model.name not in PUBLISHED_CONVENTIONS:
        return None
    protocol = PUBLISHED_CONVENTIONS[model.name].protocol
    if (protocol.filter, protocol.past) != (found.protocol.filter, found.protocol.past):
        if protocol.past is not Past.ROLLING and found.split == "train":
            return None
        found = evaluate(model, found.dataset, found.split, protocol)
    return protocol, found.metrics(protocol)
