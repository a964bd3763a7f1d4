"""A history that knows every fact as soon as it is stored."""

from threading import Lock

from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.store.facts import FactStore, StoredFact


class LiveHistory:
    """The facts of a dataset and of its store, as one history that is never behind the store.

    Entities that the dataset does not have get the next free ids in the order of the sequence numbers, so every
    process gives them the same. May be used by several threads: what ``current`` returns never changes.
    """

    def __init__(self, store: FactStore, history: History | None = None):
        """``history`` is that of the dataset alone, where it is there already; the live one stays on its device."""
        self.store = store
        dataset = store.dataset
        self._lock = Lock()
        self._history = history if history is not None else History(dataset.facts, dataset.vocabulary)
        self._sequence = 0

    def current(self) -> History:
        """The history with all that is stored by now. Where nothing is new, it is the same object as before."""
        with self._lock:
            if new := self.store.since(self._sequence):
                self._take(new)
            return self._history

    def _take(self, new: list[StoredFact]) -> None:
        """Nothing changes before all has gone well: what fails half-way is taken again as if for the first time."""
        vocabulary = _grown(self._history.vocabulary, new)
        entities, relations = vocabulary.entity_ids, vocabulary.relation_ids
        added = Facts.from_rows(
            [(entities[f.subject], relations[f.relation], entities[f.object], f.step) for _, f, _ in new]
        )
        self._history = self._history.including(added, vocabulary)
        self._sequence = new[-1].sequence


def _grown(known: Vocabulary, new: list[StoredFact]) -> Vocabulary:
    """The vocabulary with the names of new facts at its end."""
    names = dict.fromkeys(name for _, fact, _ in new for name in (fact.subject, fact.object))
    unheard = [name for name in names if name not in known.entity_ids]
    return Vocabulary([*known.entities, *unheard], known.relations) if unheard else known
