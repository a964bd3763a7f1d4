"""Event forecasts: intensities of facts, beside any model that forecasts their objects."""

from itertools import accumulate

import torch
from torch import Tensor, nn

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.events.calibration import Calibration, map_inputs, new_inputs, repeated_inputs
from titer.events.config import EventConfig
from titer.events.drift import Drift
from titer.events.estimates import Estimates
from titer.events.event_list import EventList
from titer.events.fit import fit_intensity, fit_novelty
from titer.events.index import MAX_AHEAD, EventIndex
from titer.events.network import MAX_LOG_INTENSITY, IntensityNetwork
from titer.events.new_facts import NewFacts, new_intensities
from titer.events.novelty import Novelty, NoveltyNetwork
from titer.events.origin import Origin, is_forward, log_intensities, prepare_origin
from titer.events.pairings import Pairings
from titer.events.triples import Triples
from titer.graph.history import History
from titer.models.base import Model


class HistoryIndex:
    """The indexes of one history that event forecasts use."""

    def __init__(self, history: History, axis: TimeAxis, config: EventConfig):
        self.history = history
        self.index = EventIndex(history, axis)
        self.novelty = Novelty(self.index)
        self.pairings = Pairings(self.index)
        self.drift = Drift(self.index, config.recent_steps)
        self._continuing: tuple[int, Tensor, Tensor] | None = None

    def continuing(self, elapsed: int) -> tuple[Tensor, Tensor]:
        """Return the same as the function for the facts before a time; those of the last time are kept."""
        if self._continuing is None or self._continuing[0] != elapsed:
            self._continuing = (elapsed, *continuing(self.index, elapsed))
        return self._continuing[1:]


class EventModel(nn.Module):
    r"""The intensity λ(s, r, o, t): how likely a fact is to happen at each of the next steps.

    A fact that occurred before has an intensity from a network on decayed counts of its subject, relation and object.
    Where the model of the run scored its subject and relation, this is combined with
    \(\lambda(s, r, t) \, P(o \mid s, r, t)\), and likewise from the object's side. So it is with a fact that never
    occurred between entities that had other facts with each other. Any other fact that never occurred has only the
    latter, with the expected number of new facts of s and r. The probability is \(1 - e^{-\lambda}\).

    The networks are trained on the training split, the combination is fitted on the validation split. How forecasts of
    the last steps turned out corrects the networks' intensities, so that they follow data that change.
    """

    lasting: Tensor  # (num_relations,) share of the facts of a relation that still hold one step later

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: EventConfig | None = None):
        """Create an untrained model.

        Args:
            vocabulary: The entities and relations of the training data.
            axis: The calendar of the time steps.
            config: Settings, or None for the defaults.
        """
        super().__init__()
        self.config = config or EventConfig()
        self.axis = axis
        number = vocabulary.num_relations
        # The first weights depend on the seed alone, not on what was random before.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.config.seed)
            self.networks = nn.ModuleList(IntensityNetwork(number) for _ in range(self.config.members))
            self.novelty_network = NoveltyNetwork(2 * number)
        self.calibration = Calibration()
        self.register_buffer("lasting", torch.zeros(number))
        self._indexed: tuple[History, HistoryIndex] | None = None
        self._origins: dict[tuple[int, int, int], Origin] = {}

    @property
    def intensity_networks(self) -> list[IntensityNetwork]:
        """The networks whose log intensities are averaged."""
        return [network for network in self.networks if isinstance(network, IntensityNetwork)]

    def fit(self, dataset: Dataset, model: Model) -> "EventModel":
        """Train on the training split, and choose the calibration on the validation split.

        Args:
            dataset: The dataset; its test split has no influence.
            model: The trained model of the run.

        Returns:
            This model, trained.
        """
        from titer.events.fit_calibration import fit_calibration

        device = model.device
        self.to(device)
        # Not stored in the run: a run has one event model, so its fit builds these indexes once.
        train = History(dataset.train, dataset.vocabulary).to(device)
        index = EventIndex(train, dataset.axis)
        self.lasting.copy_(continuing(index, index.num_steps)[0])
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            fit_intensity(index, index.num_steps, self.config, self.intensity_networks)
            fit_novelty(Novelty(index), index.num_steps, self.config, self.novelty_network)
        if len(dataset.valid):
            known = Facts.concatenate(dataset.train, dataset.valid)
            history = History(known, dataset.vocabulary).to(device)
            steps = range(int(dataset.valid.time.min()), int(dataset.valid.time.max()) + 1)
            fit_calibration(self, model, history, steps)
            self._indexed, self._origins = None, {}
        return self.eval()

    def indexed(self, history: History) -> HistoryIndex:
        """Return the indexes of a history; those of the last one are kept."""
        kept = self._indexed
        if kept is None or kept[0] is not history:
            kept = (history, HistoryIndex(history, self.axis, self.config))
            self._indexed, self._origins = kept, {}
        return kept[1]

    def origin(self, model: Model, history: History, time: int) -> Origin:
        """Return the candidates of forecasts that begin at a time step; the last few are kept.

        Args:
            model: The trained model of the run.
            history: The known facts. Those at ``time`` or later have no influence.
            time: The first forecast step.
        """
        indexed = self.indexed(history)
        key = (id(history), id(model), time)
        if key not in self._origins:
            while len(self._origins) >= MAX_ORIGINS:
                self._origins.pop(next(iter(self._origins)))
            self._origins[key] = prepare_origin(
                self.intensity_networks, self.novelty_network, indexed.index, indexed.novelty, indexed.pairings,
                indexed.drift, model, history, time, self.config,
            )  # fmt: skip
        return self._origins[key]

    @torch.inference_mode()
    def forecast(
        self, index: EventIndex, origin: Origin, first: int, last: int, rows: Tensor | None = None
    ) -> EventList:
        """Return the probabilities of all candidates in a window of steps ahead; the last few windows are kept.

        Args:
            index: The index of the history.
            origin: The candidates, as ``origin`` returned them.
            first: The first step of the window; 1 for the first forecast step.
            last: The last step of the window.
            rows: Positions among the repeated facts followed by the new ones; None for all.
        """
        kept = origin.lists.get((first, last))
        if kept is not None:
            return kept if rows is None else kept[rows]
        if rows is not None:
            return self._forecast(index, origin, first, last, rows)
        while len(origin.lists) >= MAX_WINDOWS:
            origin.lists.pop(next(iter(origin.lists)))
        every = torch.arange(len(origin.repeated) + len(origin.new), device=origin.pair.device)
        origin.lists[first, last] = self._forecast(index, origin, first, last, every)
        return origin.lists[first, last]

    def _forecast(self, index: EventIndex, origin: Origin, first: int, last: int, rows: Tensor) -> EventList:
        num_repeated = len(origin.repeated)
        known, fresh = rows[rows < num_repeated], rows[rows >= num_repeated] - num_repeated
        at, cumulative, expected = self.curves(origin, known, first, last)
        new = origin.new[fresh]
        new_at, new_cumulative, new_expected = self.new_curves(origin, new, first, last)
        unlisted = self.expected_new(origin, is_forward(index, origin), first, last) - float(new_expected.sum())
        return EventList(
            Triples.concatenate(origin.repeated[known], new.triples),
            torch.cat([torch.ones_like(known), torch.zeros_like(fresh)]).bool(),
            torch.cat([origin.fact.number[known], torch.zeros_like(fresh, dtype=torch.float32)]),
            torch.cat([cumulative[-1], new_cumulative[-1]]),
            torch.cat([expected, new_expected]),
            torch.cat([still_holds(at)[-1], still_holds(new_at)[-1]]),
            max(unlisted, 0.0),
        )

    def expected_new(self, origin: Origin, pairs: Tensor, first: int, last: int) -> float:
        """Return the expected number of facts in a window that never occurred, of some directed pairs (a mask)."""
        novel = float(origin.novelty[pairs].sum())
        return novel * sum(
            float(self.calibration.at(self.calibration.unlisted, step)) for step in range(first, last + 1)
        )

    def curves(self, origin: Origin, rows: Tensor, first: int, last: int) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """Return, for repeated facts, P(at a step) and P(by a step) for each step of a window, and expected counts."""
        found = self.uncalibrated(origin, rows, first, last)
        return self.calibrated(found, origin.log_intensity[rows], origin.estimates[rows], first)

    def uncalibrated(self, origin: Origin, rows: Tensor, first: int, last: int) -> list[Tensor]:
        """Return the log intensities for each step of a window before the calibration, each of shape (rows, 2)."""
        networks, relation = self.intensity_networks, origin.repeated.relation[rows]
        return [
            origin.correction(log_intensities(networks, origin.table, origin.codes, rows, step), relation)
            for step in range(first, last + 1)
        ]

    def calibrated(
        self, found: list[Tensor], in_first_step: Tensor, estimates: Estimates, first: int
    ) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """Return the same as ``curves`` from the log intensities of the networks: in the window, and in step 1."""
        at, by = list[Tensor](), list[Tensor]()
        cumulative = torch.zeros_like(estimates.forward)
        for step, values in enumerate(found, start=first):
            ahead, base = min(step, MAX_AHEAD), values[:, 0]
            inputs = repeated_inputs(base, in_first_step, estimates)
            combined = inputs @ self.calibration.at(self.calibration.repeated, ahead)
            log_intensity = map_inputs(combined) @ self.calibration.at(self.calibration.step, ahead)
            log_intensity = log_intensity.clamp(max=MAX_LOG_INTENSITY)
            at.append(_probability(log_intensity))
            hazard = log_intensity if step == first else values[:, 1] + (log_intensity - base)
            cumulative = cumulative + torch.exp(hazard.clamp(max=MAX_LOG_INTENSITY))
            by.append(self._window(cumulative, step - first + 1, by))
        return _consistent(at, by)

    def new_curves(
        self, origin: Origin, new: NewFacts, first: int, last: int
    ) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """Return the same as ``curves`` for facts that never occurred before a time."""
        estimates, networks = new.estimates, self.intensity_networks
        inputs = new_inputs(estimates)
        in_first_step = new_intensities(networks, origin.table, new, 1)[:, 0]
        at, by = list[Tensor](), list[Tensor]()
        cumulative = torch.zeros_like(estimates.forward)
        for step in range(first, last + 1):
            found = new_intensities(networks, origin.table, new, step)
            ahead, base = min(step, MAX_AHEAD), found[:, 0]
            weights = self.calibration.at(self.calibration.paired, ahead)
            paired = repeated_inputs(base, in_first_step, estimates) @ weights
            other = inputs @ self.calibration.at(self.calibration.new, ahead)
            log_intensity = torch.where(new.paired, paired, other).clamp(max=1.0)
            at.append(_probability(log_intensity))
            # The first occurrence differs from any occurrence only in the log intensity of the networks.
            hazard = log_intensity if step == first else log_intensity + (found[:, 1] - base)
            cumulative = cumulative + torch.exp(hazard)
            by.append(-torch.expm1(-cumulative))
        return _consistent(at, by)

    def _window(self, cumulative: Tensor, steps: int, earlier: list[Tensor]) -> Tensor:
        """Return the calibrated probability of a window, at least that of the window without its last step."""
        value = map_inputs(torch.log(cumulative + 1e-12)) @ self.calibration.at(self.calibration.window, steps)
        found = _probability(value.clamp(max=MAX_LOG_INTENSITY))
        return torch.maximum(found, earlier[-1]) if earlier else found


MAX_ORIGINS = 3
"""Forecast origins that are kept for the next question."""
MAX_WINDOWS = 8
"""Windows whose forecasts are kept with an origin."""


def _probability(log_intensity: Tensor) -> Tensor:
    return -torch.expm1(-torch.exp(log_intensity))


def still_holds(at: list[Tensor]) -> list[Tensor]:
    """Return P(a fact still holds at a step), given that it holds before the first one.

    Args:
        at: P(the fact holds at a step), for each step of a window. A fact that ended may begin again, so this can rise.

    Returns:
        The smallest of these up to each step, since a fact that still holds has held at all of them.
    """
    return list(accumulate(at, torch.minimum))


def _consistent(at: list[Tensor], by: list[Tensor]) -> tuple[list[Tensor], list[Tensor], Tensor]:
    """Return P(at a step), P(by a step) and expected counts; none is less than the first occurrences require.

    Steps and windows are calibrated apart. A fact happens at a step at least as often as it happens there first.
    """
    at = [at[0], *(torch.maximum(p, until - before) for p, until, before in zip(at[1:], by[1:], by[:-1], strict=True))]
    return at, by, torch.stack(at).sum(dim=0)


def continuing(index: EventIndex, elapsed: int) -> tuple[Tensor, Tensor]:
    """Return the share of the facts of each relation that still held one step later, and the number of these facts.

    Args:
        index: The facts.
        elapsed: Only facts before this time, and whether they still held before it, are used.

    Returns:
        Two tensors of shape (num_relations,).
    """
    relation = index.triples.relation[index.fact_triple]
    inside = index.fact_elapsed < elapsed - 1
    again = index.occurs(index.fact_triple, index.fact_elapsed + 1) & inside
    zero = torch.zeros(index.num_relations, device=relation.device)
    total = zero.index_add(0, relation, inside.float())
    return zero.index_add(0, relation, again.float()) / total.clamp(min=1), total
