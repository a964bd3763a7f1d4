"""A history that includes every stored fact."""

from threading import Lock

from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.stored_history import history_of
from titer.store.facts import FactStore
from titer.store.named import StoredFact, facts_checksum


class LiveHistory:
    """The facts of a dataset and of its fact store as one history, up to date with the store.

    Entities that are not in the dataset get the next free ids in the order of the sequence numbers, so all processes
    assign the same ids. When facts were removed, the history is made again without them. Safe to use from several
    threads: a history that ``current`` has returned does not change.
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
        self._num_removals = 0
        self._checksum = ""

    @property
    def version(self) -> tuple[int, int, str]:
        """The number of facts ever added, the number of removals, and a checksum of the stored facts in the history."""
        with self._lock:
            return self._sequence, self._num_removals, self._checksum

    def current(self) -> History:
        """Return the history with all facts stored by now: the same object as before if nothing has changed."""
        with self._lock:
            update = self.store.update(self._sequence, self._num_removals)
            checksum = self._checksum
            if update.num_removals != self._num_removals:
                # Removals are rare, so all facts are taken in again. The facts of the dataset are not kept twice.
                dataset = self.store.dataset
                base = history_of(dataset).to(self._history.device)
                self._history = _including(base, update.facts)
                checksum = facts_checksum(update.facts)
            elif update.facts:
                self._history = _including(self._history, update.facts)
                checksum = facts_checksum(update.facts, checksum)
            # Assigned last, so after a failure the same facts can be added again.
            self._sequence, self._num_removals, self._checksum = update.last_sequence, update.num_removals, checksum
            return self._history


def _including(history: History, new: list[StoredFact]) -> History:
    if not new:
        return history
    vocabulary = _grown(history.vocabulary, new)
    entities, relations = vocabulary.entity_ids, vocabulary.relation_ids
    rows = [(entities[f.subject], relations[f.relation], entities[f.object], f.step) for _, f, _ in new]
    return history.including(Facts.from_rows(rows), vocabulary)


def _grown(known: Vocabulary, new: list[StoredFact]) -> Vocabulary:
    """Return the vocabulary with the names of new facts at its end."""
    names = dict.fromkeys(name for _, fact, _ in new for name in (fact.subject, fact.object))
    unknown = [name for name in names if name not in known.entity_ids]
    return Vocabulary([*known.entities, *unknown], known.relations) if unknown else known
