"""A history that includes every stored fact."""

from threading import Lock

from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.stored_history import history_of
from titer.store.facts import FactStore, StoredFact


class LiveHistory:
    """The facts of a dataset and of its fact store as one history, up to date with the store.

    Entities that are not in the dataset get the next free ids in the order of the sequence numbers, so all processes
    assign the same ids. Safe to use from several threads: a history that ``current`` has returned does not change.
    """

    def __init__(self, store: FactStore, history: History | None = None):
        """Create a live history.

        Args:
            store: The fact store.
            history: The history of the store's dataset without added facts. None to build it. The live history stays
                on its device.
        """
        self.store = store
        dataset = store.dataset
        self._lock = Lock()
        self._history = history if history is not None else history_of(dataset)
        self._sequence = 0

    def current(self) -> History:
        """Return the history with all facts stored by now: the same object as before if there are no new ones."""
        with self._lock:
            if new := self.store.since(self._sequence):
                self._take(new)
            return self._history

    def _take(self, new: list[StoredFact]) -> None:
        """Add stored facts. Attributes are assigned last, so after a failure the same facts can be added again."""
        vocabulary = _grown(self._history.vocabulary, new)
        entities, relations = vocabulary.entity_ids, vocabulary.relation_ids
        added = Facts.from_rows(
            [(entities[f.subject], relations[f.relation], entities[f.object], f.step) for _, f, _ in new]
        )
        self._history = self._history.including(added, vocabulary)
        self._sequence = new[-1].sequence


def _grown(known: Vocabulary, new: list[StoredFact]) -> Vocabulary:
    """Return the vocabulary with the names of new facts at its end."""
    names = dict.fromkeys(name for _, fact, _ in new for name in (fact.subject, fact.object))
    unknown = [name for name in names if name not in known.entity_ids]
    return Vocabulary([*known.entities, *unknown], known.relations) if unknown else known
