"""A small invented dataset with planted causes, for demonstrations and tests.

It covers half a year and twelve countries. The cause of every fact is known, so the evidence of a forecast can be
compared with the truth. There are six kinds of facts:

- ``recurring``: pairs of countries hold talks every week, and every president briefs the army every third day.
  Caused by the previous occurrence.
- ``consequence``: an accused country rejects the accusation two or three days later. Caused by the accusation.
- ``chain``: a country that signs a contract with a company invites the company's director three days later. The country
  may have no earlier fact with the director. Caused by the contract and the appointment of the director.
- ``latecomer``: a central bank grants a licence two days after an application, to an applicant that first appears late.
  Caused by the application. (With an applicant that exists from the start, it is a ``consequence``.)
- ``background``: facts without a cause that may cause others: accusations, contracts, appointments, applications, and
  the first occurrence of everything that recurs.
- ``noise``: informal meetings and letters without cause or effect.
"""

import random
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.split import split_by_fraction
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary

NAME = "small-world"
NUM_DAYS = 181  # the first half of 2023
FIRST_DAY = "2023-01-01"

COUNTRIES = (
    "Aldoria", "Brenmark", "Caldera", "Drovia", "Estvale", "Fenland",
    "Galdane", "Hestria", "Iskander", "Jorvik", "Keldan", "Lumeria",
)  # fmt: skip
COMPANIES = (
    "Northwind Shipping", "Helix Energy", "Copperline Rail", "Atlas Grain", "Beacon Telecom",
    "Silverbrook Mining", "Orchard Foods", "Tidewater Construction",
)  # fmt: skip
LATECOMERS = (
    "Quanta Labs", "Ember Airways", "Lanternfish Media", "Redwood Robotics", "Saltmarsh Fisheries", "Vela Satellites",
    "Mosaic Insurance", "Juniper Textiles", "Opaline Glass", "Kestrel Logistics", "Fable Pictures", "Thistle Pharma",
    "Granite Security", "Willow Water", "Zephyr Turbines", "Harbour Steel", "Paragon Press", "Indigo Paints",
    "Falcon Couriers", "Maple Furniture", "Aurora Optics", "Nimbus Cloud",
)  # fmt: skip
FIRST_NAMES = ("Mira", "Tomas", "Ines", "Anton", "Lena", "Karim", "Sofia", "Viktor", "Nadia", "Pavel")
LAST_NAMES = ("Torvald", "Okafor", "Lindqvist", "Maro", "Petrescu")


def bank(country: str) -> str:
    """Return the name of the central bank of a country."""
    return f"Central Bank of {country}"


@dataclass
class Event:
    """A fact with its kind and its causes."""

    day: int
    subject: str
    relation: str
    object: str
    kind: str
    causes: "tuple[Event, ...]" = ()


@dataclass(frozen=True, eq=False)
class SmallWorld:
    """The dataset, with the kind of every row of ``dataset.facts`` and the rows that caused it."""

    dataset: Dataset
    kinds: list[str]
    causes: list[tuple[int, ...]]


@lru_cache(maxsize=4)
def small_world(seed: int = 0) -> SmallWorld:
    """Generate the dataset; the same seed gives the same dataset."""
    events = sorted(_World(seed).simulate(), key=lambda event: event.day)
    row = {id(event): i for i, event in enumerate(events)}
    entities: dict[str, int] = {}
    relations: dict[str, int] = {}
    for event in events:
        for name in (event.subject, event.object):
            entities.setdefault(name, len(entities))
        relations.setdefault(event.relation, len(relations))
    facts = Facts.from_rows([
        (entities[event.subject], relations[event.relation], entities[event.object], event.day) for event in events
    ])  # fmt: skip
    train, valid, test = split_by_fraction(facts, (0.8, 0.1, 0.1))
    axis = TimeAxis(TimeUnit.DAY, FIRST_DAY)
    dataset = Dataset(NAME, Vocabulary(entities, relations), axis, train, valid, test)
    causes = [tuple(row[id(cause)] for cause in event.causes) for event in events]
    return SmallWorld(dataset, [event.kind for event in events], causes)


class _World:
    """A simulation that runs day by day."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.events: list[Event] = []
        self.pending: dict[int, list[Event]] = defaultdict(list)
        self.taken: set[tuple[int, str, str, str]] = set()
        self.latest: dict[tuple[str, str, str], Event] = {}
        self.appointment: dict[str, Event] = {}
        self.people = [f"{first} {last}" for last in LAST_NAMES for first in FIRST_NAMES]
        self.talks = self._weekly_talks()
        self.arrivals = {name: 60 + 5 * i for i, name in enumerate(LATECOMERS)}

    def simulate(self) -> list[Event]:
        """Return the events of all days."""
        for day in range(NUM_DAYS):
            for event in self.pending.pop(day, []):
                self._add(event)
            self._recur(day)
            self._accuse(day)
            self._appoint(day)
            self._sign(day)
            self._apply(day)
            self._meet_by_chance(day)
        return self.events

    # Random numbers. Only random() is used, since its sequence is the same in every version of Python.

    def _happens(self, probability: float) -> bool:
        return self.random.random() < probability

    def _below(self, count: int) -> int:
        return int(self.random.random() * count)

    def _any(self, options: "tuple[str, ...] | list[str]") -> str:
        return options[self._below(len(options))]

    def _two_countries(self) -> tuple[str, str]:
        first, second = self._below(len(COUNTRIES)), self._below(len(COUNTRIES) - 1)
        return COUNTRIES[first], COUNTRIES[second + (second >= first)]

    # Events of a day.

    def _add(self, event: Event) -> Event | None:
        what = (event.day, event.subject, event.relation, event.object)
        if what in self.taken:
            return None
        self.taken.add(what)
        self.events.append(event)
        return event

    def _later(self, days: int, *fact: str, kind: str, causes: tuple[Event, ...]) -> None:
        day = causes[0].day + days
        self.pending[day].append(Event(day, *fact, kind=kind, causes=causes))

    def _weekly_talks(self) -> list[tuple[str, str, int]]:
        """Pair each country with two others, and choose a weekday for each pair."""
        pairs = [(c, COUNTRIES[(i + k) % len(COUNTRIES)]) for i, c in enumerate(COUNTRIES) for k in (1, 3)]
        return [(a, b, self._below(7)) for a, b in pairs]

    def _recur(self, day: int) -> None:
        for a, b, weekday in self.talks:
            if day % 7 == weekday and self._happens(0.9):
                self._again(day, a, "hold talks with", b)
        for i, country in enumerate(COUNTRIES):
            if day % 3 == i % 3 and self._happens(0.9):
                self._again(day, f"President of {country}", "brief", f"Army of {country}")

    def _again(self, day: int, subject: str, relation: str, object: str) -> None:
        fact = (subject, relation, object)
        before = self.latest.get(fact)
        event = Event(day, *fact, kind="recurring" if before else "background", causes=(before,) if before else ())
        if self._add(event):
            self.latest[fact] = event

    def _accuse(self, day: int) -> None:
        for _ in range(2):
            if self._happens(0.6):
                accuser, accused = self._two_countries()
                event = self._add(Event(day, accuser, "accuse", accused, "background"))
                if event and self._happens(0.9):
                    self._later(
                        2 + self._below(2),
                        accused,
                        "reject accusation by",
                        accuser,
                        kind="consequence",
                        causes=(event,),
                    )

    def _appoint(self, day: int) -> None:
        for i, company in enumerate(COMPANIES):
            if day % 24 == 3 * i:
                person = self.people[(i + len(COMPANIES) * (day // 24)) % len(self.people)]
                event = self._add(Event(day, company, "appoint as director", person, "background"))
                if event:
                    self.appointment[company] = event

    def _sign(self, day: int) -> None:
        for _ in range(2):
            if self._happens(0.6):
                country, company = self._any(COUNTRIES), self._any(COMPANIES)
                event = self._add(Event(day, country, "sign contract with", company, "background"))
                appointed = self.appointment.get(company)
                if event and appointed and self._happens(0.9):
                    causes = (event, appointed)
                    self._later(3, country, "invite", appointed.object, kind="chain", causes=causes)

    def _apply(self, day: int) -> None:
        present = [name for name, arrival in self.arrivals.items() if arrival <= day]
        for name in present:
            if day == self.arrivals[name] or self._happens(0.1):
                self._apply_for_licence(day, name, kind="latecomer")
        if self._happens(0.5):
            self._apply_for_licence(day, self._any(COMPANIES), kind="consequence")

    def _apply_for_licence(self, day: int, applicant: str, kind: str) -> None:
        authority = bank(self._any(COUNTRIES))
        event = self._add(Event(day, applicant, "apply for licence from", authority, "background"))
        if event and self._happens(0.9):
            self._later(2, authority, "grant licence to", applicant, kind=kind, causes=(event,))

    def _meet_by_chance(self, day: int) -> None:
        present = [*COMPANIES, *(name for name, arrival in self.arrivals.items() if arrival < day)]
        for _ in range(6):
            self._add(Event(day, self._any(present), "write to", bank(self._any(COUNTRIES)), "noise"))
        for _ in range(4):
            country = self._any(COUNTRIES)
            options = [*COUNTRIES, *COMPANIES, *(bank(c) for c in COUNTRIES), *self.people]
            other = self._any(options)
            if other != country:
                self._add(Event(day, country, "meet informally", other, "noise"))
